import { mutation, query, router } from '../http/trpc.ts'
import * as queues from '../procedures/queues.ts'

export const queuesRouter = router({
  list: query(queues.list),
  pause: mutation(queues.pause),
  resume: mutation(queues.resume),
  limit: mutation(queues.limit),
  configure: mutation(queues.configure),
})
