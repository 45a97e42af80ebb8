import { mutation, router } from '../http/trpc.ts'
import * as pairings from '../procedures/pairings.ts'

export const pairingsRouter = router({
  create: mutation(pairings.create),
  exchange: mutation(pairings.exchange),
})
