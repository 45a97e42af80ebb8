import * as pairings from '../operations/pairings.ts'
import { mutation, router } from '../trpc.ts'

export const pairingsRouter = router({
  create: mutation(pairings.create),
  exchange: mutation(pairings.exchange),
})
