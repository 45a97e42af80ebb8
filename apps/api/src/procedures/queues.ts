import {
  configureQueueRequestSchema,
  limitRequestSchema,
  pauseQueueRequestSchema,
  queueExplanationSchema,
  queueOverviewSchema,
  queueRequestSchema,
} from '@oncue/core/wire'
import { z } from 'zod'
import { changeRoute, listRoute, restBody, restObject } from '../http/rest/shapes.ts'
import { actorOf } from './actor.ts'
import { assertMayChange } from './own-queue.ts'
import { mutation, query } from './procedure.ts'

const NOTHING = z.null()
const byQueue = { params: queueRequestSchema.shape, errors: ['INVALID_QUEUE'] } as const

export const queues = {
  list: query({
    access: 'read',
    input: z.undefined(),
    output: z.array(queueOverviewSchema),
    run: ({ store }) => store.queues(),
    rest: [
      listRoute('GET /api/queues', 'List queues with their counts, settings and limits', queueOverviewSchema),
    ],
  }),

  explain: query({
    access: 'read',
    input: queueRequestSchema,
    output: queueExplanationSchema,
    run: ({ store }, { queue }) => store.explainQueue(queue),
    rest: [
      {
        at: 'GET /api/queues/:queue/explain',
        summary: 'Read why the jobs of a queue wait, and about how long until none does',
        ...byQueue,
        responses: { 200: restObject(queueExplanationSchema) },
        respond: (explanation) => ({ status: 200, body: restBody(queueExplanationSchema, explanation) }),
      },
    ],
  }),

  pause: mutation({
    access: 'act',
    input: pauseQueueRequestSchema,
    output: NOTHING,
    async run(ctx, { queue, forSeconds }) {
      await assertMayChange(ctx, 'pause', queue)
      await ctx.store.pause(queue, actorOf(ctx), forSeconds === undefined ? undefined : forSeconds * 1_000)
      return null
    },
    audit: (target) => ({ target, count: 1 }),
    rest: [
      changeRoute({
        at: 'POST /api/queues/:queue/pause',
        summary: 'Pause a queue: running jobs finish, no new ones start',
        fields: { for_seconds: pauseQueueRequestSchema.shape.forSeconds },
        toInput: ({ for_seconds, ...same }) => ({ ...same, forSeconds: for_seconds }),
        ...byQueue,
      }),
    ],
  }),

  resume: mutation({
    access: 'act',
    input: queueRequestSchema,
    output: NOTHING,
    async run(ctx, { queue }) {
      await ctx.store.resume(queue, actorOf(ctx))
      return null
    },
    audit: (target) => ({ target, count: 1 }),
    rest: [
      changeRoute({ at: 'POST /api/queues/:queue/resume', summary: 'Resume a paused queue', ...byQueue }),
    ],
  }),

  limit: mutation({
    access: 'act',
    input: limitRequestSchema,
    output: NOTHING,
    async run(ctx, { limit: wanted, ...target }) {
      if ('queue' in target) await assertMayChange(ctx, 'limit', target.queue)
      await ctx.store.limit(target, wanted)
      return null
    },
    audit: (target) => ({ target, count: 1 }),
  }),

  configure: mutation({
    access: 'act',
    input: configureQueueRequestSchema,
    output: NOTHING,
    async run(ctx, { queue, ...settings }) {
      await assertMayChange(ctx, 'configure', queue)
      await ctx.control.queues.configure(queue, settings)
      return null
    },
    audit: (target) => ({ target, count: 1 }),
  }),
}
