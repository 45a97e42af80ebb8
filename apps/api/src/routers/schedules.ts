import * as schedules from '../operations/schedules.ts'
import { mutation, query, router } from '../trpc.ts'

export const schedulesRouter = router({
  list: query(schedules.list),
  save: mutation(schedules.save),
  remove: mutation(schedules.remove),
  pause: mutation(schedules.pause),
  resume: mutation(schedules.resume),
  runNow: mutation(schedules.runNow),
})
