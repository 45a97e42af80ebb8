import { isFinished, isOncueError, type JobId, jobIdSchema, OncueError } from '@oncue/core'
import {
  actionReportSchema,
  type BulkAction,
  explanationSchema,
  failureGroupSchema,
  failuresRequestSchema,
  familySchema,
  gaugePointSchema,
  gaugesRequestSchema,
  getJobResponseSchema,
  type JobTarget,
  jobEventsRequestSchema,
  jobEventsSchema,
  jobStatsRequestSchema,
  jobStatsSchema,
  jobSummarySchema,
  jobTargetSchema,
  listJobsRequestSchema,
  listJobsResponseSchema,
  MAX_BATCH,
  seriesPointSchema,
  seriesRequestSchema,
  statsResponseSchema,
  toRest,
  waitRequestSchema,
  waitResponseSchema,
  watchMessageSchema,
  watchRequestSchema,
} from '@oncue/core/wire'
import { ACTION_METHODS, type JobDetails, type JobFilter, toTarget } from '@oncue/db'
import { timeoutSignal } from '@oncue/runtime'
import { z } from 'zod'
import type { AssertStill } from '../auth/validity.ts'
import type { ApiContext } from '../context.ts'
import { pointsOf } from '../health/gauge-samples.ts'
import { commandStatusOf, commandStatusSchema } from '../http/rest/commands.ts'
import type { RestRoute } from '../http/rest/route.ts'
import {
  failuresQuery,
  listQuery,
  refuseUndone,
  restBody,
  restFailuresSchema,
  restJobPageSchema,
  restJobSchema,
  restTicketSchema,
  ticketOf,
  toFailuresInput,
  toListInput,
} from '../http/rest/shapes.ts'
import { parsePosition } from '../live/position.ts'
import { untilFinished } from '../live/until-finished.ts'
import { watchJob } from '../live/watch-job.ts'
import { assertMayFilterBy, maskerOf } from '../masking/masker.ts'
import { showEvent } from '../masking/payload-changes.ts'
import { actorOf } from './actor.ts'
import { auditJobs } from './audit-jobs.ts'
import { enqueue, enqueueMany } from './enqueue.ts'
import { batch, flow, tree } from './flow.ts'
import { actedIds, assertMayAct } from './own-queue.ts'
import { authorize, callerOf, mutation, query, subscription } from './procedure.ts'
import { answer, questions, timeline } from './questions.ts'
import { requeueFrom } from './requeue-from.ts'
import { requeueWithPayload } from './requeue-with-payload.ts'
import { search } from './search-budget.ts'
import { signal } from './signal.ts'

const byId = { id: jobIdSchema }
const asIds = ({ id }: Record<string, unknown>) => ({ ids: [id] })

export const jobs = {
  enqueue,
  enqueueMany,
  batch,
  flow,

  list: query({
    access: 'read',
    input: listJobsRequestSchema,
    output: listJobsResponseSchema,
    async run(ctx, { limit, offset, cursor, order, ...filter }) {
      await assertMayFilterBy(ctx, filter)
      const read = () => ctx.store.list(filter, { limit, offset, cursor, order })
      const page = await (isSearch(filter) ? search(ctx, read) : read())
      const mask = await maskerOf(ctx)
      const items = page.items.map((job) => mask(job, ['cursor', 'progress', 'meta']).value)
      return { ...page, items, limit, offset: offset ?? 0 }
    },
    rest: [
      {
        at: 'GET /api/jobs',
        summary: 'List jobs, the newest or the oldest first',
        query: listQuery,
        toInput: toListInput,
        responses: { 200: restJobPageSchema },
        errors: ['INVALID_TOPIC', 'INVALID_QUEUE', 'INVALID_CURSOR'],
        respond: ({ items, ...page }) => ({
          status: 200,
          body: { items: items.map((job) => restBody(jobSummarySchema, job)), ...toRest(page) },
        }),
      },
    ],
  }),

  stats: query({
    access: 'read',
    input: jobStatsRequestSchema.optional(),
    output: jobStatsSchema,
    run: (ctx, filter) => ctx.store.stats(filter),
    rest: [
      {
        at: 'GET /api/jobs/stats',
        summary: 'Count jobs by status',
        query: { queue: listQuery.queue, topic: listQuery.topic },
        responses: { 200: statsResponseSchema },
        errors: ['INVALID_TOPIC', 'INVALID_QUEUE'],
        respond: ({ pending, processing, completed, failed, successRate, averageRunMs }) => ({
          status: 200,
          body: {
            pending,
            processing,
            completed,
            failed,
            success_rate: successRate,
            avg_execution_time: averageRunMs,
          },
        }),
      },
    ],
  }),

  get: query({
    access: 'own',
    input: z.strictObject({ id: jobIdSchema }),
    output: getJobResponseSchema,
    async run(ctx, { id }) {
      const job = await ctx.store.get(id)
      if (!job) throw notFound(id)
      await assertMaySee(ctx, id, job)
      const mask = await maskerOf(ctx)
      const { value, masked } = mask(job, ['payload', 'result', 'cursor', 'progress', 'meta', 'events'])
      return { ...value, events: value.events.map((event) => showEvent(mask, event)), masked }
    },
    rest: [
      {
        at: 'GET /api/jobs/:id',
        summary: 'Read a job, with its payload, result and first events',
        params: byId,
        responses: { 200: restJobSchema },
        errors: ['JOB_NOT_FOUND'],
        respond: (job) => ({ status: 200, body: restBody(getJobResponseSchema, job) }),
      },
      {
        at: 'GET /api/commands/jobs/:id',
        summary: 'Read the status of a command',
        params: byId,
        responses: { 200: commandStatusSchema },
        errors: ['JOB_NOT_FOUND'],
        respond: (job) => ({ status: 200, body: commandStatusOf(job) }),
      },
    ],
  }),

  explain: query({
    access: 'read',
    input: z.strictObject({ id: jobIdSchema }),
    output: explanationSchema,
    async run(ctx, { id }) {
      const explanation = await ctx.store.explain(id)
      if (!explanation) throw notFound(id)
      return explanation
    },
  }),

  family: query({
    access: 'read',
    input: z.strictObject({ id: jobIdSchema }),
    output: familySchema,
    async run(ctx, { id }) {
      const family = await ctx.store.family(id)
      if (!family) throw notFound(id)
      return family
    },
  }),

  events: query({
    access: 'read',
    input: jobEventsRequestSchema,
    output: jobEventsSchema,
    async run(ctx, { id, afterVersion, limit }) {
      const found = await ctx.store.events.list(id, { afterVersion, limit })
      if (found.length === 0 && !(await ctx.store.glance([id])).has(id)) throw notFound(id)
      const mask = await maskerOf(ctx)
      const { value, masked } = mask({ events: found }, ['events'])
      return { events: value.events.map((event) => showEvent(mask, event)), masked }
    },
  }),

  timeline,
  tree,

  failures: query({
    access: 'read',
    input: failuresRequestSchema.default({ limit: 50 }),
    output: z.array(failureGroupSchema),
    run: (ctx, filter) => ctx.store.failures(filter),
    rest: [
      {
        at: 'GET /api/failures',
        summary: 'List errors, with the jobs that are retried after them and those that gave up',
        query: failuresQuery,
        toInput: toFailuresInput,
        responses: { 200: restFailuresSchema },
        errors: ['INVALID_TOPIC', 'INVALID_QUEUE'],
        respond: (groups) => ({
          status: 200,
          body: { items: groups.map((group) => restBody(failureGroupSchema, group)) },
        }),
      },
    ],
  }),

  series: query({
    access: 'read',
    input: seriesRequestSchema,
    output: z.array(seriesPointSchema),
    run: (ctx, request) => ctx.store.series(request),
  }),

  gauges: query({
    access: 'read',
    input: gaugesRequestSchema,
    output: z.array(gaugePointSchema),
    async run(ctx, { stepMinutes, queue = null, ...range }) {
      return pointsOf(await ctx.store.gauges.list({ ...range, queue }), queue, stepMinutes)
    },
  }),

  delete: action('delete', {
    at: 'DELETE /api/jobs/:id',
    summary: 'Delete a pending or failed job',
    params: byId,
    toInput: asIds,
    responses: { 204: null },
    errors: ['JOB_NOT_FOUND', 'INVALID_STATE'],
    refuse: refuseUndone('deleted', 'only pending and failed jobs can be deleted'),
    respond: () => ({ status: 204 }),
  }),
  requeue: action('requeue', {
    at: 'POST /api/jobs/:id/requeue',
    summary: 'Requeue a finished job, with all its retries',
    params: byId,
    toInput: asIds,
    responses: { 200: restTicketSchema },
    errors: ['JOB_NOT_FOUND', 'INVALID_STATE', 'UNIQUE_KEY_LIVE'],
    refuse: refuseUndone('requeued', 'only failed, cancelled and completed jobs can be requeued'),
    respond: async (_, { params, glance }) => ({ status: 200, body: await ticketOf(params.id, glance) }),
  }),
  requeueWithPayload,
  requeueFrom,
  signal,
  questions,
  answer,
  runNow: action('run_now', {
    at: 'POST /api/jobs/:id/run-now',
    summary: 'Run a retrying or scheduled job now, instead of at its time',
    params: byId,
    toInput: asIds,
    responses: { 200: restTicketSchema },
    errors: ['JOB_NOT_FOUND', 'INVALID_STATE', 'DATABASE_BUSY'],
    refuse: refuseUndone('made due', 'only jobs that wait for their time can be run now'),
    respond: async (_, { params, glance }) => ({ status: 200, body: await ticketOf(params.id, glance) }),
  }),
  cancel: action('cancel', {
    at: 'POST /api/jobs/:id/cancel',
    summary: 'Cancel a waiting job, or ask a running one to stop',
    params: byId,
    toInput: asIds,
    responses: { 200: restTicketSchema },
    errors: ['JOB_NOT_FOUND', 'INVALID_STATE', 'DATABASE_BUSY'],
    refuse: refuseUndone('cancelled', 'only unfinished jobs can be cancelled'),
    respond: async (_, { params, glance }) => ({ status: 200, body: await ticketOf(params.id, glance) }),
  }),

  watch: subscription({
    access: 'own',
    input: watchRequestSchema,
    output: watchMessageSchema,
    assertMayWatch: (ctx, { id }) => assertMaySee(ctx, id),
    async *watch(ctx, { id: jobId, lastEventId, events }, signal) {
      const from = parsePosition(lastEventId)
      const store = events ? ctx.store : null
      for await (const { id, message } of watchJob(store, ctx.live.states, jobId, from, signal)) {
        // Each time: the setting may change while the stream is open.
        const mask = await maskerOf(ctx)
        if (message.type === 'event') {
          const event = showEvent(mask, mask(message.event, ['data']).value)
          yield { id, message: { type: 'event' as const, event } }
        } else {
          yield { id, message: { type: 'state' as const, state: mask(message.state, ['progress']).value } }
        }
      }
    },
  }),

  wait: query({
    access: 'own',
    input: waitRequestSchema,
    output: waitResponseSchema,
    async run(ctx, { id, timeoutMs }) {
      const assertStill = await assertMaySee(ctx, id)
      const leave = ctx.live.enter(callerOf(ctx))
      const validity = ctx.auth.whileValid(ctx.principal, assertStill ? 'enqueue' : 'read', assertStill)
      const signal = AbortSignal.any([
        timeoutSignal(timeoutMs, ctx.runtime),
        ctx.live.closing,
        validity.signal,
        ...(ctx.request.gone ? [ctx.request.gone()] : []),
      ])
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
          // The job was requeued in between.
          if (!isFinished(status)) continue
          const { value, masked } = mask({ result: job.result }, ['result'])
          return { finished: true as const, topic, status, result: value.result, error, masked }
        }
      } finally {
        validity.release()
        leave()
      }
    },
  }),
}

function action(name: BulkAction, route: RestRoute<typeof jobTargetSchema, typeof actionReportSchema>) {
  return mutation({
    access: 'act',
    input: jobTargetSchema,
    output: actionReportSchema,
    rest: [route],
    async run(ctx, target) {
      const by = actorOf(ctx)
      const method = ACTION_METHODS[name]
      if ('filter' in target) {
        await assertMayFilterBy(ctx, target.filter)
        await assertMayAct(ctx, name, target.filter)
        const act = () => ctx.store[method](toTarget(target.filter), { by, asOf: target.asOf })
        return isSearch(target.filter) ? search(ctx, act) : act()
      }
      if (target.ids.length > MAX_BATCH) {
        const message = `input.ids has ${target.ids.length} items, more than ${MAX_BATCH}`
        throw new OncueError('BATCH_TOO_LARGE', message)
      }
      const ids = await actedIds(ctx, name, target.ids)
      const refused = new Set(target.ids).size - ids.length
      const { done, skipped } = await ctx.store[method](ids, { by })
      return { done, skipped: refused > 0 ? { ...skipped, FORBIDDEN: refused } : skipped }
    },
    audit: (target, { done }) => auditAction(target, done),
    auditFailed(target, { code, details }) {
      const done = Number(details?.done ?? 0)
      return done > 0 ? auditAction(target, done, { failed: code }) : null
    },
  })
}

/** Filters that read job after job. */
function isSearch({ payloadText, errorText, idSuffix }: JobFilter): boolean {
  return payloadText !== undefined || errorText !== undefined || idSuffix !== undefined
}

function auditAction(target: JobTarget, done: number, outcome: { failed?: string } = {}) {
  if ('ids' in target) return auditJobs({ ids: target.ids, ...outcome }, done)
  return { target: { ...target, ...outcome }, count: done }
}

/**
 * A caller who may enqueue and not see jobs is shown those that it could have enqueued, if it knows their ids: 48 bits
 * of an id are random, and no response lists them. All others are told that there is no such job. Returns how to check
 * again that such a caller still may; undefined for a caller who may see jobs.
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
