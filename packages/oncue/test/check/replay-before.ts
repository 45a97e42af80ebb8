import { defineWorkers } from '@oncue/core'
import { jobs } from './replay-jobs.ts'

/** The release that runs. */
export const workers = defineWorkers(jobs, {
  async skips(_job, ctx) {
    await ctx.step('charge', () => 1)
    await ctx.sleep('settle', '1h')
  },
  async spawns(_job, ctx) {
    await ctx.spawn('part', 1)
    await ctx.sleep('settle', '1h')
  },
  throws: (_job, ctx) => ctx.sleep('settle', '1h'),
  waits: (_job, ctx) => ctx.receive('bank'),
  async grows(_job, ctx) {
    await Promise.all([ctx.step('charge', () => 1), ctx.step('book', () => 2)])
    await Promise.race([ctx.receive('bank', { timeout: '1d' }), ctx.sleep('settle', '1h')])
  },
  async sums(_job, ctx) {
    const parts = await ctx.all([ctx.spawn('part', 1), ctx.spawn('part', 2)])
    await ctx.sleep(`settle ${parts.join()}`, '1h')
  },
  connects: (_job, ctx) => ctx.sleep('settle', '1h'),
  writes: (_job, ctx) => ctx.sleep('settle', '1h'),
  looks: (_job, ctx) => ctx.sleep('settle', '1h'),
  part: ({ payload }) => payload,
})
