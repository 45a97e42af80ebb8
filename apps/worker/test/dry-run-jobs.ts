import { DatabaseSync } from 'node:sqlite'
import { type JobContext, PermanentError } from '@oncue/core'

/** Handlers as another release may have them. */
export const workers = {
  /** Blocks its process. */
  loops() {
    for (;;) {}
  },
  /** Throws where no promise of the handler hears of it. */
  dies() {
    queueMicrotask(() => {
      throw new PermanentError('no listener')
    })
    return new Promise(() => {})
  },
  /** Leaves something behind that throws when the next job comes. */
  async leaves(_job: unknown, ctx: JobContext) {
    process.once('message', () => {
      throw new PermanentError('of another job')
    })
    await ctx.sleep('a', '1h')
  },
  writes(job: { payload: unknown }) {
    class Own extends DatabaseSync {}
    new Own(String(job.payload)).exec('create table written (n)')
  },
  kills(job: { payload: unknown }) {
    process.kill(Number(job.payload), 0)
  },
  async fits(_job: unknown, ctx: JobContext) {
    await ctx.sleep('a', '1h')
  },
}
