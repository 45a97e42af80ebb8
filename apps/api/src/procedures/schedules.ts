import { jobIdSchema, OncueError, prepareJob } from '@oncue/core'
import {
  previewScheduleRequestSchema,
  removedScheduleSchema,
  savedScheduleSchema,
  scheduleNameSchema,
  schedulePreviewSchema,
  scheduleRequestSchema,
  scheduleSchema,
} from '@oncue/core/wire'
import { nextRuns, previewRuns, type ScheduleRow } from '@oncue/db'
import { z } from 'zod'
import type { ApiContext } from '../context.ts'
import { JOB_BODY } from '../http/body.ts'
import { changeRoute, listRoute, restBody, restObject, wholeNumber } from '../http/rest/shapes.ts'
import { maskerOf, unmaskedChecker } from '../masking/masker.ts'
import { actorOf } from './actor.ts'
import { sharesKey } from './enqueue.ts'
import { queueChecker } from './own-queue.ts'
import { authorize, mutation, query } from './procedure.ts'

const byName = { params: scheduleNameSchema.shape, errors: ['SCHEDULE_NOT_FOUND', 'INVALID_TOPIC'] } as const

const { cron, timezone, count } = previewScheduleRequestSchema.shape

export const schedules = {
  list: query({
    access: 'read',
    input: z.undefined(),
    output: z.array(scheduleSchema),
    async run(ctx) {
      const schedules = await ctx.store.schedules.list()
      const now = await ctx.store.now()
      return Promise.all(schedules.map((schedule) => show(ctx, schedule, now)))
    },
    rest: [listRoute('GET /api/schedules', 'List schedules with their next runs', scheduleSchema)],
  }),

  preview: query({
    access: 'read',
    input: previewScheduleRequestSchema,
    output: schedulePreviewSchema,
    run: async ({ store }, { cron, timezone, count }) => ({
      runs: previewRuns(cron, timezone, await store.now(), count),
    }),
    rest: [
      {
        at: 'GET /api/schedules/preview',
        summary: 'Read the next runs of a cron pattern that is not saved',
        query: { cron, timezone, count: wholeNumber(count.unwrap()).describe('default: 5; at most 10') },
        responses: { 200: restObject(schedulePreviewSchema) },
        errors: ['INVALID_CRON'],
        respond: (preview) => ({ status: 200, body: restBody(schedulePreviewSchema, preview) }),
      },
    ],
  }),

  /** A schedule enqueues again and again, so it takes what an enqueue takes: the right, the topic and the payload are checked alike. */
  save: mutation({
    access: 'act',
    maxBody: JOB_BODY,
    input: scheduleRequestSchema,
    output: savedScheduleSchema,
    async run(ctx, { payload = null, takeOver, ...schedule }) {
      const { auth, payloads, principal, settings, store } = ctx
      await authorize(ctx, 'enqueue')
      await auth.assertTopic(principal, schedule.topic)
      await assertMayTakeKey(ctx, schedule.options)
      const assertQueue = await queueChecker(ctx)
      const policyOf = await payloads.policies()
      assertQueue(schedule.options.queue ?? policyOf(schedule.topic)?.queue)
      const assertUnmasked = await unmaskedChecker(ctx)
      assertUnmasked(payload, prepareJob(schedule.topic, payload).payload, schedule.options.meta)
      const { payloadValidation } = await settings.get()
      await payloads.check(schedule.topic, payload, payloadValidation)
      const saved = await store.schedules.save({ ...schedule, payload, source: 'database' }, { takeOver })
      const shown = await show(ctx, saved, await store.now())
      // It may be announced later, so the schedule is saved; most unknown topics are typing errors.
      if ((await store.topics()).some(({ topic }) => topic === schedule.topic)) return shown
      return { ...shown, warning: `No worker has announced a topic ${schedule.topic}: check its name` }
    },
    audit: ({ name, cron, topic, takeOver }) => ({
      target: { name, cron, topic, ...(takeOver && { takeOver }) },
      count: 1,
    }),
    rest: [
      {
        at: 'POST /api/schedules',
        summary: 'Create or change a schedule',
        body: scheduleRequestSchema,
        example: { name: 'nightly', cron: '0 9 * * *', topic: 'mail_digest', payload: { userId: '123' } },
        responses: { 200: restObject(savedScheduleSchema) },
        errors: ['INVALID_TOPIC', 'INVALID_QUEUE', 'SCHEDULE_IN_CODE'],
        respond: (schedule) => ({ status: 200, body: restBody(savedScheduleSchema, schedule) }),
      },
    ],
  }),

  remove: mutation({
    access: 'act',
    input: scheduleNameSchema,
    output: removedScheduleSchema,
    async run({ store }, { name }) {
      const found = (await store.schedules.list()).find((schedule) => schedule.name === name)
      await store.schedules.remove(name)
      if (found?.source !== 'code') return null
      return {
        warning: 'It is declared in code: the next worker that declares it brings it back. Pause it instead.',
      }
    },
    audit: (target) => ({ target, count: 1 }),
    rest: [
      {
        at: 'DELETE /api/schedules/:name',
        summary: 'Remove a schedule',
        ...byName,
        responses: { 204: null, 200: removedScheduleSchema.unwrap() },
        respond: (removed) => (removed ? { status: 200, body: removed } : { status: 204 }),
      },
    ],
  }),

  pause: mutation({
    access: 'act',
    input: scheduleNameSchema,
    output: z.null(),
    async run(ctx, { name }) {
      await ctx.store.schedules.pause(name, actorOf(ctx))
      return null
    },
    audit: (target) => ({ target, count: 1 }),
    rest: [changeRoute({ at: 'POST /api/schedules/:name/pause', summary: 'Pause a schedule', ...byName })],
  }),

  resume: mutation({
    access: 'act',
    input: scheduleNameSchema,
    output: z.null(),
    async run(ctx, { name }) {
      await ctx.store.schedules.resume(name, actorOf(ctx))
      return null
    },
    audit: (target) => ({ target, count: 1 }),
    rest: [changeRoute({ at: 'POST /api/schedules/:name/resume', summary: 'Resume a schedule', ...byName })],
  }),

  runNow: mutation({
    access: 'act',
    input: scheduleNameSchema,
    output: z.object({ id: jobIdSchema }),
    async run(ctx, { name }) {
      const { auth, payloads, principal, store } = ctx
      await authorize(ctx, 'enqueue')
      const schedule = (await store.schedules.list()).find((candidate) => candidate.name === name)
      if (!schedule)
        throw new OncueError('SCHEDULE_NOT_FOUND', `There is no schedule ${JSON.stringify(name)}`)
      await auth.assertTopic(principal, schedule.topic)
      await assertMayTakeKey(ctx, schedule.options)
      const assertQueue = await queueChecker(ctx)
      const policyOf = await payloads.policies()
      assertQueue(schedule.options.queue ?? policyOf(schedule.topic)?.queue)
      return { id: await store.schedules.runNow(name) }
    },
    audit: ({ name }, { id }) => ({ target: { name, ids: [id] }, count: 1 }),
    rest: [
      {
        at: 'POST /api/schedules/:name/run-now',
        summary: 'Enqueue the job of a schedule now',
        ...byName,
        responses: { 201: z.object({ id: jobIdSchema }) },
        respond: (body) => ({ status: 201, body }),
      },
    ],
  }),
}

/** No caller is checked at a tick, so the key is checked for all that it could meet: jobs of other topics and queues. */
async function assertMayTakeKey(
  { auth, principal }: ApiContext,
  options: Pick<ScheduleRow['options'], 'unique'>,
): Promise<void> {
  if (options.unique === undefined) return
  if (sharesKey(options)) await auth.assertAllTopics(principal)
  auth.assertAllQueues(principal)
}

async function show(ctx: ApiContext, schedule: ScheduleRow, now: Date) {
  const mask = await maskerOf(ctx)
  const { value } = mask(schedule, ['payload'])
  const options = mask(schedule.options, ['meta']).value
  return { ...value, options: { ...options }, nextRuns: nextRuns(schedule, now) }
}
