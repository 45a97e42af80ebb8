import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { createLogger, type Logger } from '@oncue/api'
import { OncueError } from '@oncue/core'

export interface Log extends Logger {
  /** Its path; null: in the terminal. */
  readonly file: string | null
}

/** In a file, so that the terminal stays quiet: one of this start, and one of the last. */
export function openLog(folder: string, level: string, isTerminal: boolean): Log {
  if (isTerminal) return Object.assign(createLogger({ level }), { file: null })
  const file = join(folder, 'start.log')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (existsSync(file)) renameSync(file, `${file}.1`)
    return Object.assign(createLogger({ level, file }), { file })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OncueError('INVALID_INPUT', `Cannot write ${file}: ${code}`, {
      cause,
      hint: 'Make that folder writable, or log to the terminal: --logs',
    })
  }
}
