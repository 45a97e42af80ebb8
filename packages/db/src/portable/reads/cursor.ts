import { createHash } from 'node:crypto'
import { LIMITS, OncueError } from '@oncue/core'
import { isUuid } from '../../uuid.ts'

/** The position of a job in every list. It never changes, whatever happens to the job. */
export type ListPosition = { readonly created: Date; readonly id: string }

/** `desc`: newest first. */
export type Direction = 'desc' | 'asc'

/** Opaque to callers: the position of the last job that was shown, and which filter it was shown for. */
export function encodeCursor({ created, id }: ListPosition, filter: object): string {
  return Buffer.from(JSON.stringify([created.getTime(), id, hashOf(filter)])).toString('base64url')
}

export function decodeCursor(cursor: string, filter: object): ListPosition {
  const [ms, id, hash] = parse(cursor)
  if (!isTime(ms) || typeof id !== 'string' || !isUuid(id))
    throw new OncueError('INVALID_CURSOR', 'This is not a valid cursor')
  if (hash !== hashOf(filter))
    throw new OncueError('INVALID_CURSOR', 'This cursor belongs to a list with another filter or order')
  return { created: new Date(ms), id }
}

/** Whether both databases can compare with it. */
function isTime(ms: unknown): ms is number {
  return Number.isInteger(ms) && (ms as number) >= LIMITS.dateMin && (ms as number) <= LIMITS.dateMax
}

export function assertPageSize(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    throw new OncueError('INVALID_INPUT', `limit must be from 1 to 1000, got ${String(limit)}`)
}

function parse(cursor: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

/** Equal for values that mean the same: absent and undefined, in any order. */
export function hashOf(value: object): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('base64url')
    .slice(0, 12)
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)])
}
