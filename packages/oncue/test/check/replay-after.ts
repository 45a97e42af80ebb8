import { writeFileSync } from 'node:fs'
import { env } from 'node:process'
import { defineWorkers } from '@oncue/core'
import { jobs } from './replay-jobs.ts'

/** The next release. It still has all names, so that only a replay can find what is wrong. */
export const workers = defineWorkers(jobs, {
  async skips(_job, ctx) {
    if (ctx.attempt > 9) await ctx.step('charge', () => 1)
    await ctx.step('charge 2', () => 1)
    await ctx.sleep('settle', '1h')
  },
  async spawns(_job, ctx) {
    await ctx.spawn('part', 2)
    await ctx.sleep('settle', '1h')
  },
  async throws(_job, ctx) {
    if (Number(ctx.job.payload) > 0) throw new RangeError('no such account')
    await ctx.sleep('settle', '1h')
  },
  async waits({ payload }, ctx) {
    // A job that waits for its signal has passed this line.
    if (await ctx.since('check')) await ctx.step('check', () => Promise.reject(new Error(String(payload))))
    await ctx.receive('bank')
  },
  async grows(_job, ctx) {
    await Promise.all([ctx.step('book', () => 2), ctx.step('charge', () => 1)])
    await Promise.race([ctx.sleep('settle', '1h'), ctx.receive('bank', { timeout: '1d' })])
    await ctx.step('mail', () => 1)
  },
  async sums(_job, ctx) {
    const parts = await ctx.all([ctx.spawn('part', 1), ctx.spawn('part', 2)])
    await ctx.sleep(`settle ${parts.join()}`, '1h')
  },
  async connects({ payload }, ctx) {
    await fetch(`http://127.0.0.1:${payload.port}`)
    await ctx.sleep('settle', '1h')
  },
  async writes({ payload }, ctx) {
    writeFileSync(payload.file, 'replayed')
    await ctx.sleep('settle', '1h')
  },
  async looks(_job, ctx) {
    const names = Object.keys(env)
    if (names.length > 0) await ctx.sleep('settle', '1h')
    else throw new Error('no environment')
  },
})
