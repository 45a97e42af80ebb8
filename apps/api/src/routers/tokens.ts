import { mutation, query, router } from '../http/trpc.ts'
import * as tokens from '../procedures/tokens.ts'

export const tokensRouter = router({
  list: query(tokens.list),
  create: mutation(tokens.create),
  revoke: mutation(tokens.revoke),
  me: query(tokens.me),
})
