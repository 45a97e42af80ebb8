import {
  configureQueueRequestSchema,
  limitRequestSchema,
  queueOverviewSchema,
  queueRequestSchema,
} from '@oncue/core/wire'
import { z } from 'zod'
import { actorOf } from './actor.ts'
import { assertMayChange } from './own-queue.ts'
import { mutation, query } from './procedure.ts'

const NOTHING = z.null()

export const queues = {
  list: query({
    access: 'read',
    input: z.undefined(),
    output: z.array(queueOverviewSchema),
    run: ({ store }) => store.queues(),
  }),

  pause: mutation({
    access: 'act',
    input: queueRequestSchema,
    output: NOTHING,
    async run(ctx, { queue }) {
      await assertMayChange(ctx, 'pause', queue)
      await ctx.store.pause(queue, actorOf(ctx))
      return null
    },
    audit: (target) => ({ target, count: 1 }),
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
