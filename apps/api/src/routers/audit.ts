import * as audit from '../operations/audit.ts'
import { query, router } from '../trpc.ts'

export const auditRouter = router({ list: query(audit.list) })
