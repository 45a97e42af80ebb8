import { mutation, query, router, subscription } from '../http/trpc.ts'
import * as jobs from '../procedures/jobs.ts'

export const jobsRouter = router({
  enqueue: mutation(jobs.enqueue),
  enqueueMany: mutation(jobs.enqueueMany),
  get: query(jobs.get),
  list: query(jobs.list),
  stats: query(jobs.stats),
  failures: query(jobs.failures),
  series: query(jobs.series),
  gauges: query(jobs.gauges),
  events: query(jobs.events),
  requeue: mutation(jobs.requeue),
  cancel: mutation(jobs.cancel),
  delete: mutation(jobs.remove),
  watch: subscription(jobs.watch),
  wait: query(jobs.wait),
})
