import type { Logger } from '@oncue/runtime'
import { pino } from 'pino'
import pretty from 'pino-pretty'
import { escapeLogLine } from './escape.ts'

/** How much is logged, and in which form. */
export interface LoggerOptions {
  /** debug, info, warn, error or silent. Default: info. */
  readonly level?: string | undefined
  /** Appends to this file instead of standard output. */
  readonly file?: string | undefined
  /** Readable lines instead of JSON. Default: on a terminal and in a file. */
  readonly pretty?: boolean | undefined
}

/** Writes lines before the call returns, so that the last lines of a process are not lost. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const { level = 'info', file } = options
  const { pretty: isPretty = file !== undefined || process.stdout.isTTY === true } = options
  const settings = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  const destination = pino.destination({ dest: file ?? 1, sync: true })
  if (!isPretty) {
    const formatters = { level: (label: string) => ({ level: label }) }
    return pino({ ...settings, formatters }, destination)
  }
  const lines = pretty({
    destination,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
    ...(file !== undefined && { translateTime: 'SYS:isoDateTime', colorize: false }),
  })
  return pino(settings, { write: (line) => void lines.write(escapeLogLine(line)) })
}
