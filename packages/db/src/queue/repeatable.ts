import { toOncueError as fromPostgres } from '../postgres/errors.ts'
import { toOncueError as fromSqlite } from '../sqlite/errors.ts'

const REPEATABLE = new Set<string>(['DATABASE_CONFLICT', 'DATABASE_BUSY', 'DATABASE_UNAVAILABLE'])
const MAX_CAUSES = 5

/** Whether a transaction that failed with this may succeed when it is repeated. Libraries wrap the error of the driver. */
export function isRepeatable(error: unknown): boolean {
  let cause = error
  for (let depth = 0; depth < MAX_CAUSES && typeof cause === 'object' && cause !== null; depth++) {
    // Prisma's own code for a conflict.
    if ('code' in cause && cause.code === 'P2034') return true
    if (REPEATABLE.has(fromPostgres(cause).code) || REPEATABLE.has(fromSqlite(cause).code)) return true
    const { cause: inner, driverError } = cause as { cause?: unknown; driverError?: unknown }
    cause = inner ?? driverError
  }
  return false
}
