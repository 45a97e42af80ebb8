import * as channels from '../operations/channels.ts'
import { mutation, query, router } from '../trpc.ts'

export const channelsRouter = router({
  list: query(channels.list),
  create: mutation(channels.create),
  update: mutation(channels.update),
  delete: mutation(channels.remove),
  test: mutation(channels.test),
})
