import { describeError, signalOf } from '@oncue/core/internal'
import { type Logger, type Runtime, systemRuntime } from '@oncue/runtime'
import type { Middleware } from '../run/middleware.ts'

/**
 * Logs the start and the end of every run. The worker itself logs only failures, with the whole error.
 */
export function logging(log: Logger, runtime: Runtime = systemRuntime): Middleware {
  return async ({ id, topic, queue, run }, { attempt }, next) => {
    const fields = { job: id, topic, queue, run, attempt }
    const startedAt = runtime.monotonic()
    const took = () => ({ ...fields, ms: Math.round(runtime.monotonic() - startedAt) })
    log.info(fields, 'started')
    try {
      const result = await next()
      log.info(took(), 'finished')
      return result
    } catch (error) {
      log.info({ ...took(), threw: describeError(error, topic).class }, signalOf(error)?.kind ?? 'failed')
      throw error
    }
  }
}
