import { isFinished, isOncueError, type JobId, jobIdSchema, OncueError } from '@oncue/core'
import {
  actionReportSchema,
  failureGroupSchema,
  failuresRequestSchema,
  gaugePointSchema,
  gaugesRequestSchema,
  getJobResponseSchema,
  type JobTarget,
  jobEventsRequestSchema,
  jobEventsSchema,
  jobStatsRequestSchema,
  jobStatsSchema,
  jobTargetSchema,
  listJobsRequestSchema,
  listJobsResponseSchema,
  MAX_BATCH,
  type OperationAction,
  seriesPointSchema,
  seriesRequestSchema,
  waitRequestSchema,
  waitResponseSchema,
  watchMessageSchema,
  watchRequestSchema,
} from '@oncue/core/wire'
import { type JobDetails, type JobFilter, toTarget } from '@oncue/db'
import { z } from 'zod'
import type { AssertStill } from '../auth/validity.ts'
import type { ApiContext } from '../context.ts'
import { pointsOf } from '../health/gauge-samples.ts'
import { parsePosition } from '../live/position.ts'
import { untilFinished } from '../live/until-finished.ts'
import { watchJob } from '../live/watch-job.ts'
import { assertMayFilterBy, maskerOf } from '../masking/masker.ts'
import { actorOf } from './actor.ts'
import { noteJobs } from './notes.ts'
import { actedIds, assertMayAct } from './own-queue.ts'
import { authorize, callerOf, changing, reading, watching } from './procedure.ts'
import { search } from './search.ts'

export { enqueue, enqueueMany } from './enqueue.ts'

export const get = reading({
  name: 'jobs.get',
  access: 'own',
  input: z.strictObject({ id: jobIdSchema }),
  output: getJobResponseSchema,
  async run(ctx, { id }) {
    const job = await ctx.store.get(id)
    if (!job) throw notFound(id)
    await assertMaySee(ctx, id, job)
    const mask = await maskerOf(ctx)
    const { value, masked } = mask(job, ['payload', 'result', 'cursor', 'progress', 'meta', 'events'])
    return { ...value, masked }
  },
})

export const list = reading({
  name: 'jobs.list',
  access: 'read',
  input: listJobsRequestSchema,
  output: listJobsResponseSchema,
  async run(ctx, { limit, offset, cursor, ...filter }) {
    await assertMayFilterBy(ctx, filter)
    const read = () => ctx.store.list(filter, { limit, offset, cursor })
    const page = await (isSearch(filter) ? search(ctx, read) : read())
    const mask = await maskerOf(ctx)
    const items = page.items.map((job) => mask(job, ['cursor', 'progress', 'meta']).value)
    return { ...page, items, limit, offset: offset ?? 0 }
  },
})

export const stats = reading({
  name: 'jobs.stats',
  access: 'read',
  input: jobStatsRequestSchema.optional(),
  output: jobStatsSchema,
  run: (ctx, filter) => ctx.store.stats(filter),
})

export const failures = reading({
  name: 'jobs.failures',
  access: 'read',
  input: failuresRequestSchema.default({ limit: 50 }),
  output: z.array(failureGroupSchema),
  run: (ctx, filter) => ctx.store.failures(filter),
})

export const series = reading({
  name: 'jobs.series',
  access: 'read',
  input: seriesRequestSchema,
  output: z.array(seriesPointSchema),
  run: (ctx, request) => ctx.store.series(request),
})

export const gauges = reading({
  name: 'jobs.gauges',
  access: 'read',
  input: gaugesRequestSchema,
  output: z.array(gaugePointSchema),
  async run(ctx, { stepMinutes, queue = null, ...range }) {
    return pointsOf(await ctx.store.gauges.list({ ...range, queue }), queue, stepMinutes)
  },
})

export const events = reading({
  name: 'jobs.events',
  access: 'read',
  input: jobEventsRequestSchema,
  output: jobEventsSchema,
  async run(ctx, { id, afterVersion, limit }) {
    const found = await ctx.store.events.list(id, { afterVersion, limit })
    if (found.length === 0 && !(await ctx.store.glance([id])).has(id)) throw notFound(id)
    const mask = await maskerOf(ctx)
    const { value, masked } = mask({ events: found }, ['events'])
    return { ...value, masked }
  },
})

export const requeue = action('requeue')
export const cancel = action('cancel')
/** `delete` is no name for a constant. */
export const remove = action('delete')

function action(name: OperationAction) {
  return changing({
    name: `jobs.${name}`,
    access: 'act',
    input: jobTargetSchema,
    output: actionReportSchema,
    async run(ctx, target) {
      const by = actorOf(ctx)
      if ('filter' in target) {
        await assertMayFilterBy(ctx, target.filter)
        await assertMayAct(ctx, name, target.filter)
        const act = () => ctx.store[name](toTarget(target.filter), { by, asOf: target.asOf })
        return isSearch(target.filter) ? search(ctx, act) : act()
      }
      if (target.ids.length > MAX_BATCH) {
        const message = `input.ids has ${target.ids.length} items, more than ${MAX_BATCH}`
        throw new OncueError('BATCH_TOO_LARGE', message)
      }
      const ids = await actedIds(ctx, name, target.ids)
      const refused = new Set(target.ids).size - ids.length
      const { done, skipped } = await ctx.store[name](ids, { by })
      return { done, skipped: refused > 0 ? { ...skipped, FORBIDDEN: refused } : skipped }
    },
    note: (target, { done }) => noteAction(target, done),
    noteFailed(target, { code, details }) {
      const done = Number(details?.done ?? 0)
      return done > 0 ? noteAction(target, done, { failed: code }) : null
    },
  })
}

/** It reads payload after payload. */
function isSearch({ payloadText }: JobFilter): boolean {
  return payloadText !== undefined
}

function noteAction(target: JobTarget, done: number, outcome: { failed?: string } = {}) {
  if ('ids' in target) return noteJobs({ ids: target.ids, ...outcome }, done)
  return { target: { ...target, ...outcome }, count: done }
}

export const watch = watching({
  name: 'jobs.watch',
  access: 'own',
  input: watchRequestSchema,
  output: watchMessageSchema,
  assertMayWatch: (ctx, { id }) => assertMaySee(ctx, id),
  async *watch(ctx, { id: jobId, lastEventId, events }, signal) {
    const mask = await maskerOf(ctx)
    const from = parsePosition(lastEventId)
    const store = events ? ctx.store : null
    for await (const { id, message } of watchJob(store, ctx.live.states, jobId, from, signal)) {
      if (message.type === 'event') {
        yield { id, message: { type: 'event' as const, event: mask(message.event, ['data']).value } }
      } else {
        yield { id, message: { type: 'state' as const, state: mask(message.state, ['progress']).value } }
      }
    }
  },
})

export const wait = reading({
  name: 'jobs.wait',
  access: 'own',
  input: waitRequestSchema,
  output: waitResponseSchema,
  async run(ctx, { id, timeoutMs }) {
    const assertStill = await assertMaySee(ctx, id)
    const leave = ctx.live.enter(callerOf(ctx))
    const validity = ctx.auth.whileValid(ctx.principal, assertStill ? 'enqueue' : 'read', assertStill)
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), ctx.live.closing, validity.signal])
    try {
      for (;;) {
        const state = await untilFinished(ctx.store, ctx.live.states, id, signal)
        validity.signal.throwIfAborted()
        if (!state) throw notFound(id)
        const mask = await maskerOf(ctx)
        if (!isFinished(state.status)) {
          const { status, progress } = mask(state, ['progress']).value
          return { finished: false as const, status, progress }
        }
        const job = await ctx.store.get(id)
        if (!job) throw notFound(id)
        const { topic, status, lastError: error } = job
        // It was requeued since.
        if (!isFinished(status)) continue
        const { value, masked } = mask({ result: job.result }, ['result'])
        return { finished: true as const, topic, status, result: value.result, error, masked }
      }
    } finally {
      validity.release()
      leave()
    }
  },
})

/**
 * A caller who may enqueue and not see jobs is shown those that it could have enqueued, if it knows their ids: 48 bits
 * of an id are random, and no answer lists any. To all others a job is as if there were none. Answers how to look again
 * whether such a caller still may; none for a caller who may see jobs.
 */
async function assertMaySee(
  ctx: ApiContext,
  id: JobId,
  known?: Pick<JobDetails, 'topic' | 'queue'>,
): Promise<AssertStill | undefined> {
  if ((await authorize(ctx, 'own')) === 'read') return undefined
  const job = known ?? (await ctx.store.get(id))
  if (!job) throw notFound(id)
  const { topic, queue } = job
  const assertStill = async () => {
    try {
      await ctx.auth.assertTopic(ctx.principal, topic)
      const assertQueue = await ctx.auth.queueChecker(ctx.principal)
      assertQueue(queue)
    } catch (error) {
      throw isOncueError(error) && !error.retryable ? notFound(id) : error
    }
  }
  await assertStill()
  return assertStill
}

function notFound(id: JobId): OncueError {
  return new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
}
