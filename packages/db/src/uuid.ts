import { newJobId, OncueError } from '@oncue/core'
import { createJobIds, type NewJobId } from '@oncue/core/internal'
import { type Runtime, systemRuntime } from '@oncue/runtime'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * In lower case, as both databases return ids: SQLite compares them as texts. Postgres refuses other texts where it
 * expects an id; a read treats them as ids that do not exist.
 */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Both databases accept 32,766 values in a statement. */
const BATCH = 10_000

/** Reads many ids in batches. */
export async function readByIds<Row>(
  ids: readonly string[],
  read: (batch: string[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const known = [...new Set(ids)].filter(isUuid)
  const rows: Row[] = []
  for (let n = 0; n < known.length; n += BATCH) rows.push(...(await read(known.slice(n, n + BATCH))))
  return rows
}

export function assertWorkerId(id: string): void {
  if (isUuid(id)) return
  const message = `The worker id must be a UUID in lower case, not ${JSON.stringify(id)}`
  throw new OncueError('INVALID_INPUT', message)
}

/** The process has one sequence of ids, and so has every simulation. */
const sequences = new WeakMap<Runtime, NewJobId>([[systemRuntime, newJobId]])

export function jobIdsOf(runtime: Runtime): NewJobId {
  const newId = sequences.get(runtime) ?? createJobIds(runtime)
  sequences.set(runtime, newId)
  return newId
}
