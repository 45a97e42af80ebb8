import { escapeLogLine } from '@oncue/core/internal'
import type { Logger } from '@oncue/runtime'
import { pino } from 'pino'
import pretty from 'pino-pretty'

export { type Logger, silentLogger } from '@oncue/runtime'

export interface LoggerOptions {
  /** debug, info, warn, error or silent; info */
  readonly level?: string | undefined
  /** For people instead of programs. Default: where a terminal is. */
  readonly pretty?: boolean | undefined
}

/** Lines on standard output, written before the call returns: what a process says last is not lost. */
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
