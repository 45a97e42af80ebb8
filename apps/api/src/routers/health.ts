import { query, router, subscription } from '../http/trpc.ts'
import * as health from '../procedures/health.ts'

export const healthRouter = router({ get: query(health.get), watch: subscription(health.watch) })
