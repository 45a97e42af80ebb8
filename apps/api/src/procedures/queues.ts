import {
  configureQueueRequestSchema,
  limitRequestSchema,
  queueOverviewSchema,
  queueRequestSchema,
} from '@oncue/core/wire'
import { z } from 'zod'
import { actorOf } from './actor.ts'
import { assertMayChange } from './own-queue.ts'
import { changing, reading } from './procedure.ts'

const NOTHING = z.null()

export const list = reading({
  name: 'queues.list',
  access: 'read',
  input: z.undefined(),
  output: z.array(queueOverviewSchema),
  run: ({ store }) => store.queues(),
})

export const pause = changing({
  name: 'queues.pause',
  access: 'act',
  input: queueRequestSchema,
  output: NOTHING,
  async run(ctx, { queue }) {
    await assertMayChange(ctx, 'pause', queue)
    await ctx.store.pause(queue, actorOf(ctx))
    return null
  },
  note: (target) => ({ target, count: 1 }),
})

export const resume = changing({
  name: 'queues.resume',
  access: 'act',
  input: queueRequestSchema,
  output: NOTHING,
  async run(ctx, { queue }) {
    await ctx.store.resume(queue, actorOf(ctx))
    return null
  },
  note: (target) => ({ target, count: 1 }),
})

export const limit = changing({
  name: 'queues.limit',
  access: 'act',
  input: limitRequestSchema,
  output: NOTHING,
  async run(ctx, { limit: wanted, ...target }) {
    if ('queue' in target) await assertMayChange(ctx, 'limit', target.queue)
    await ctx.store.limit(target, wanted)
    return null
  },
  note: (target) => ({ target, count: 1 }),
})

export const configure = changing({
  name: 'queues.configure',
  access: 'act',
  input: configureQueueRequestSchema,
  output: NOTHING,
  async run(ctx, { queue, ...settings }) {
    await assertMayChange(ctx, 'configure', queue)
    await ctx.control.queues.configure(queue, settings)
    return null
  },
  note: (target) => ({ target, count: 1 }),
})
