import { query, router } from '../http/trpc.ts'
import * as workers from '../procedures/workers.ts'

export const workersRouter = router({ list: query(workers.list) })
