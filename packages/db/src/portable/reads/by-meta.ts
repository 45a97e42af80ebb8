import type { JobFilter } from '../../store.ts'
import type { Sql } from '../sql.ts'
import { narrowPrefix } from './filter.ts'
import { entriesStatement, type MetaEntry } from './meta.ts'
import { firstPlaces } from './windows.ts'

/** Jobs are looked up in job_meta, one after the other in the order of the list. */
export type ByMeta = {
  readonly entry: MetaEntry
  /** How many jobs have it; at least so many if they are not few. */
  readonly count: number
  readonly isFew: boolean
  /** The filter asks for nothing else. */
  readonly isAll: boolean
}

/** Which of two sides is the rarer is told by how far back so many of each reach. */
const SAMPLE = 50

/** Keys and values are cut off at this length in job_meta. */
const CUT_AT = 200

/**
 * Whether job_meta is the way to what a filter matches: if at most `few` jobs have one of its values, if no
 * index knows what else is asked for, or if the value is rarer than that. Otherwise null: most of what the
 * walk would meet could be something else.
 */
export async function byMeta(sql: Sql, filter: JobFilter, few: number): Promise<ByMeta | null> {
  const { meta = {}, idPrefix, payloadText, createdFrom, createdTo, ...indexed } = filter
  if (Object.keys(meta).length === 0 || (idPrefix && narrowPrefix(idPrefix))) return null
  const statement = entriesStatement(sql.dialect, filter, { limit: few + 1, nth: SAMPLE })
  const rows = await sql.walk<MetaEntry & { n: number; since: unknown }>(statement)
  const entries = rows.map((row) => ({ ...row, since: sql.time(row.since)?.getTime() ?? 0 }))
  const [rarest] = entries.sort((a, b) => a.n - b.n || a.since - b.since)
  if (!rarest) return null
  const { key, value, n, since } = rarest
  const isAll = asksOnlyFor(filter) && key.length < CUT_AT && value.length < CUT_AT
  const way = { entry: { key, value }, count: Math.min(n, few), isFew: n <= few, isAll }
  const isAlone = Object.values(indexed).every((value) => value === undefined)
  if (isAlone || way.isFew) return way
  const others = { ...indexed, createdFrom, createdTo }
  const last = (await firstPlaces(sql, others, undefined, SAMPLE))[SAMPLE - 1]
  return last && last.created.getTime() >= since ? way : null
}

/** One value of meta, and at most a time. */
function asksOnlyFor({ meta = {}, createdFrom, createdTo, ...others }: JobFilter): boolean {
  return Object.keys(meta).length === 1 && Object.values(others).every((value) => value === undefined)
}
