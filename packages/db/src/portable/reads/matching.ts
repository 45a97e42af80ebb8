import type { JobFilter } from '../../store.ts'
import type { Sql } from '../sql.ts'
import type { Place } from './cursor.ts'
import { checkFilter } from './filter.ts'
import { type Batch, matchingIds } from './list.ts'
import { MOST_AT_ONCE } from './windows.ts'

/** How many payloads one call reads on Postgres, and those of all jobs that were made in the same millisecond as the last. */
const READ_AT_MOST = 2_000
const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * `matchingIds` in bounded steps, also for a text in payloads: to find five hundred jobs by it, millions may have
 * to be read, and on SQLite nothing else happens in this process meanwhile. So it goes stretch by stretch. A
 * batch may be empty and still have a next one.
 */
export async function matching(
  sql: Sql,
  filter: JobFilter,
  asOf: Date,
  after: Place | null,
  limit: number,
): Promise<Batch> {
  checkFilter(filter)
  const { payloadText, ...others } = filter
  if (payloadText === undefined) return matchingIds(sql, filter, asOf, after, limit)
  const most = MOST_AT_ONCE[sql.dialect] ?? READ_AT_MOST
  const { next: end } = await matchingIds(sql, others, asOf, after, most)
  if (!end) return matchingIds(sql, filter, asOf, after, limit)
  const createdTo = new Date(end.created.getTime() + 1)
  const found = await matchingIds(sql, { ...filter, createdTo }, asOf, after, limit)
  return { ids: found.ids, next: found.next ?? { created: end.created, id: HIGHEST_ID } }
}
