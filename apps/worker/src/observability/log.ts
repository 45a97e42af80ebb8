import { describeError, escapeLogLine, signalOf } from '@oncue/core/internal'
import { type Logger, type Runtime, systemRuntime } from '@oncue/runtime'
import { pino } from 'pino'
import pretty from 'pino-pretty'
import type { Middleware } from '../run/middleware.ts'

export { type Logger, silentLogger } from '@oncue/runtime'

export interface LoggerOptions {
  /** debug, info, warn, error or silent. Default: info. */
  readonly level?: string | undefined
  /** Readable lines instead of JSON. Default: on a terminal. */
  readonly pretty?: boolean | undefined
}

/** Writes lines to standard output before the call returns, so that the last lines of a process are not lost. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const { level = 'info', pretty: isPretty = process.stdout.isTTY === true } = options
  const settings = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  if (!isPretty) {
    const formatters = { level: (label: string) => ({ level: label }) }
    return pino({ ...settings, formatters }, pino.destination({ dest: 1, sync: true }))
  }
  const lines = pretty({ sync: true, destination: 1, translateTime: 'SYS:HH:MM:ss.l', singleLine: true })
  return pino(settings, { write: (line) => void lines.write(escapeLogLine(line)) })
}

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
