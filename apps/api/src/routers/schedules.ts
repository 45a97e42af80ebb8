import { mutation, query, router } from '../http/trpc.ts'
import * as schedules from '../procedures/schedules.ts'

export const schedulesRouter = router({
  list: query(schedules.list),
  save: mutation(schedules.save),
  remove: mutation(schedules.remove),
  pause: mutation(schedules.pause),
  resume: mutation(schedules.resume),
  runNow: mutation(schedules.runNow),
})
