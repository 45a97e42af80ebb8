import * as workers from '../operations/workers.ts'
import { query, router } from '../trpc.ts'

export const workersRouter = router({ list: query(workers.list) })
