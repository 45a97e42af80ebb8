import {
  configureQueueRequestSchema,
  INTERNAL_QUEUE,
  isOncueError,
  limitRequestSchema,
  OncueError,
  queueOverviewSchema,
  queueRequestSchema,
} from '@oncue/core'
import { z } from 'zod'
import type { ApiContext } from '../context.ts'
import { authorize, changing, reading } from '../operation.ts'
import { actorOf } from './actor.ts'

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
    await assertMay('pause', ctx, queue)
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
    if ('queue' in target) await assertMay('limit', ctx, target.queue)
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
    await assertMay('configure', ctx, queue)
    await ctx.store.configureQueue(queue, settings)
    return null
  },
  note: (target) => ({ target, count: 1 }),
})

/** From our own queue all alerts are sent. To let them be sent again everybody may who acts. */
async function assertMay(verb: string, ctx: ApiContext, queue: string): Promise<void> {
  if (queue !== INTERNAL_QUEUE) return
  try {
    await authorize(ctx, 'admin')
  } catch (error) {
    if (!isOncueError(error, 'FORBIDDEN')) throw error
    throw new OncueError('FORBIDDEN', `Only an admin may ${verb} the queue of the alerts`)
  }
}
