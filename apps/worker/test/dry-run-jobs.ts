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
      throw new PermanentError('nobody listens')
    })
    return new Promise(() => {})
  },
  async fits(_job: unknown, ctx: JobContext) {
    await ctx.sleep('a', '1h')
  },
}
