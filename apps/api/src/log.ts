import { escapeLogLine } from '@oncue/core/internal'
import { pino } from 'pino'
import pretty from 'pino-pretty'

/** What the API needs of a log: any pino fits, and so does a list in a test. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Logger
}

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

/** For tests, and for those who want to hear nothing. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
}
