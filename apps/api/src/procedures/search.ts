import type { ApiContext } from '../context.ts'
import { callerOf } from './procedure.ts'

/** Does what looks at job after job, out of the caller's budget for it. */
export function search<Answer>(ctx: ApiContext, read: () => Promise<Answer>): Promise<Answer> {
  return ctx.searches.spend(callerOf(ctx), read, ctx.request.isGone)
}
