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

/** node:sqlite gives the number of a result code; better-sqlite3 its name. */
const NAMES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  1555: 'SQLITE_CONSTRAINT_PRIMARYKEY',
}

function nameOf(error: unknown): string | undefined {
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  // The last byte is the code, those before tell its kind.
  return typeof errcode === 'number' ? (NAMES[errcode] ?? NAMES[errcode & 0xff]) : undefined
}

/** Converts an error of the driver into one of ours, with the driver's own as its cause. */
export function toOncueError(error: unknown): OncueError {
  if (isOncueError(error)) return error
  const { code: driversCode, message } = describeError(error)
  const code = nameOf(error) ?? driversCode
  if (code === 'SQLITE_CONSTRAINT_PRIMARYKEY' && /_jobs\.id\b/.test(message)) {
    return new OncueError('DUPLICATE_ID', 'A job with this id already exists', { cause: error })
  }
  const ours =
    BY_CODE.find(([prefix]) => code.startsWith(prefix))?.[1] ??
    (/no such (table|column)/.test(message) ? 'MIGRATION_NEEDED' : 'DATABASE_ERROR')
  return new OncueError(ours, `SQLite: ${message}`, { cause: error, ...(code && { details: { code } }) })
}
