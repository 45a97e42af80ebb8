import { type ErrorCode, isOncueError, OncueError } from '@oncue/core'
import { describeError } from '../portable/driver-error.ts'

const BY_CODE: [prefix: string, code: ErrorCode][] = [
  ['SQLITE_BUSY', 'DATABASE_BUSY'],
  ['SQLITE_LOCKED', 'DATABASE_BUSY'],
  ['SQLITE_FULL', 'DATABASE_FULL'],
  ['SQLITE_READONLY', 'DATABASE_READ_ONLY'],
  ['SQLITE_CONSTRAINT', 'DATABASE_REFUSED'],
  ['SQLITE_MISMATCH', 'DATABASE_REFUSED'],
  ['SQLITE_TOOBIG', 'DATABASE_REFUSED'],
  ['SQLITE_CANTOPEN', 'DATABASE_UNAVAILABLE'],
  ['SQLITE_IOERR', 'DATABASE_UNAVAILABLE'],
]

/** Converts an error of the driver into one of ours, with the driver's own as its cause. */
export function toOncueError(error: unknown): OncueError {
  if (isOncueError(error)) return error
  const { code, message } = describeError(error)
  if (code === 'SQLITE_CONSTRAINT_PRIMARYKEY' && /_jobs\.id\b/.test(message)) {
    return new OncueError('DUPLICATE_ID', 'A job with this id already exists', { cause: error })
  }
  const ours =
    BY_CODE.find(([prefix]) => code.startsWith(prefix))?.[1] ??
    (/no such (table|column)/.test(message) ? 'MIGRATION_NEEDED' : 'DATABASE_ERROR')
  return new OncueError(ours, `SQLite: ${message}`, { cause: error, ...(code && { details: { code } }) })
}
