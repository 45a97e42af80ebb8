import * as tokens from '../operations/tokens.ts'
import { mutation, query, router } from '../trpc.ts'

export const tokensRouter = router({
  list: query(tokens.list),
  create: mutation(tokens.create),
  revoke: mutation(tokens.revoke),
  me: query(tokens.me),
})
