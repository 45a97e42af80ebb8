import { query, router } from '../http/trpc.ts'
import * as audit from '../procedures/audit.ts'

export const auditRouter = router({ list: query(audit.list) })
