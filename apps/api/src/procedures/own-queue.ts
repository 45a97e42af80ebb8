import { DEFAULTS, isOncueError, type JobId, OncueError } from '@oncue/core'
import { assertOtherQueue, INTERNAL_QUEUE, INTERNAL_TOPIC_PREFIX } from '@oncue/core/internal'
import type { BulkAction } from '@oncue/core/wire'
import type { JobFilter } from '@oncue/db'
import type { ApiContext } from '../context.ts'
import { authorize } from './procedure.ts'

/** Refuses a queue into which the caller may not enqueue. */
export async function queueChecker({ auth, principal }: ApiContext): Promise<(queue?: string) => void> {
  const assertAllowed = await auth.queueChecker(principal)
  return (queue = DEFAULTS.queue) => {
    assertOtherQueue(queue)
    assertAllowed(queue)
  }
}

/** Alerts are sent from our own queue, so only admins may stop it. Every caller who may act can resume it. */
export async function assertMayChange(ctx: ApiContext, verb: string, queue: string): Promise<void> {
  if (queue !== INTERNAL_QUEUE) return
  try {
    await authorize(ctx, 'admin')
  } catch (error) {
    if (!isOncueError(error, 'FORBIDDEN')) throw error
    throw new OncueError('FORBIDDEN', `Only an admin may ${verb} the alert queue`)
  }
}

/** The same for its jobs. A filter that names neither their queue nor their topic does not match them. */
export async function assertMayAct(
  ctx: ApiContext,
  action: BulkAction,
  { queue, topic }: Pick<JobFilter, 'queue' | 'topic'>,
): Promise<void> {
  if (isHarmless(action)) return
  if (queue === INTERNAL_QUEUE || (topic !== undefined && isOwn(topic))) await authorize(ctx, 'admin')
}

/** The ids on which the caller may act. */
export async function actedIds(ctx: ApiContext, action: BulkAction, ids: readonly JobId[]): Promise<JobId[]> {
  const given = [...new Set(ids)]
  if (isHarmless(action) || ctx.principal.role === 'admin') return given
  const jobs = await ctx.store.glance(given)
  return given.filter((id) => !isOwn(jobs.get(id)?.topic ?? ''))
}

/** Requeue and run now only repeat a job or start it earlier. */
const isHarmless = (action: BulkAction) => action === 'requeue' || action === 'run_now'

const isOwn = (topic: string) => topic.startsWith(INTERNAL_TOPIC_PREFIX)
