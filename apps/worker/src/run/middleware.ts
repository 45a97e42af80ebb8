import { type JobContext, OncueError, type RunningJob } from '@oncue/core'

/**
 * Wraps every run. It may observe, wait, change the result, or throw; what it returns or throws is what the
 * run returns or throws. Without `next()` the handler does not run.
 */
export type Middleware = (job: RunningJob, ctx: JobContext, next: () => Promise<unknown>) => Promise<unknown>

type Call = (job: RunningJob, ctx: JobContext, handler: () => unknown) => Promise<unknown>

/** The first of the list is the outermost. */
export function compose(middleware: readonly Middleware[]): Call {
  if (middleware.length === 0) return (_job, _ctx, handler) => promised(handler)
  return (job, ctx, handler) => {
    const from = async (depth: number): Promise<unknown> => {
      const current = middleware[depth]
      if (!current) return handler()
      let called = false
      return current(job, ctx, async () => {
        if (called) throw new OncueError('INVALID_INPUT', 'a middleware called next() twice in one run')
        called = true
        return from(depth + 1)
      })
    }
    return from(0)
  }
}

/** As an `async` function would, but with the promise that a handler returns instead of another that follows it. */
function promised(handler: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(handler())
  } catch (error) {
    return Promise.reject(error)
  }
}
