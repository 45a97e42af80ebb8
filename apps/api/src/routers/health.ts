import * as health from '../operations/health.ts'
import { query, router, subscription } from '../trpc.ts'

export const healthRouter = router({ get: query(health.get), watch: subscription(health.watch) })
