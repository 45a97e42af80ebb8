import { mutation, query, router } from '../http/trpc.ts'
import * as channels from '../procedures/channels.ts'

export const channelsRouter = router({
  list: query(channels.list),
  create: mutation(channels.create),
  update: mutation(channels.update),
  delete: mutation(channels.remove),
  test: mutation(channels.test),
})
