import * as queues from '../operations/queues.ts'
import { mutation, query, router } from '../trpc.ts'

export const queuesRouter = router({
  list: query(queues.list),
  pause: mutation(queues.pause),
  resume: mutation(queues.resume),
  limit: mutation(queues.limit),
  configure: mutation(queues.configure),
})
