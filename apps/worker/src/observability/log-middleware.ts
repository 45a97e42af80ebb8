import { describeError, signalOf } from '@oncue/core/internal'
import type { Middleware } from '../run/middleware.ts'
import type { Logger } from './log.ts'

/**
 * A line when a run starts and one when it ends, for those who want to see each. The worker itself says
 * only what went wrong, with the whole error.
 */
export function logging(log: Logger): Middleware {
  return async ({ id, topic, queue, run }, { attempt }, next) => {
    const fields = { job: id, topic, queue, run, attempt }
    const startedAt = performance.now()
    const took = () => ({ ...fields, ms: Math.round(performance.now() - startedAt) })
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
