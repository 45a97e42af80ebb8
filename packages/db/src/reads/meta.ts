import type { Sql } from '../sql.ts'
import { META_ROW } from '../sqlite/sql-meta.ts'
import type { JobFilter } from '../store.ts'
import { createdWithin, narrowPrefix } from './filter.ts'
import { all, type Fragment, q, raw } from './fragment.ts'

/** An entry of a job's meta as job_meta has it. Keys and values are cut off at this length. */
export type MetaEntry = { readonly key: string; readonly value: string }
const CUT_AT = 200

/** For a total, so many are looked at: where no vacuum came yet, each may be on a page of its own. */
export const TOTAL_UP_TO = 2_000

/** Jobs are looked up in job_meta, one after the other in the order of the list. */
export type ByMeta = {
  readonly entry: MetaEntry
  /** How many jobs have it, if at most TOTAL_UP_TO. */
  readonly count: number
  /** The filter asks for nothing else. */
  readonly isAll: boolean
}

/**
 * Whether job_meta is the way to what a filter matches: if at most `rare` jobs have one of its values,
 * or if the filter asks for nothing but that value and a time. Otherwise null: most of what the walk
 * would meet could be something else.
 */
export async function byMeta(sql: Sql, filter: JobFilter, rare: number): Promise<ByMeta | null> {
  const { meta = {}, idPrefix } = filter
  if (Object.keys(meta).length === 0 || (idPrefix && narrowPrefix(idPrefix))) return null
  const isOne = asksOnlyFor(filter)
  const limit = (isOne ? TOTAL_UP_TO : rare) + 1
  const rows = await sql.walk<MetaEntry & { n: number }>(entriesStatement(sql.dialect, filter, limit))
  const [rarest] = rows.toSorted((a, b) => a.n - b.n)
  if (!rarest) return null
  const { key, value, n } = rarest
  const isAll = isOne && key.length < CUT_AT && value.length < CUT_AT
  return isAll || n < limit ? { entry: { key, value }, count: n, isAll } : null
}

/** One value of meta, and at most a time. */
function asksOnlyFor({ meta = {}, createdFrom, createdTo, ...others }: JobFilter): boolean {
  return Object.keys(meta).length === 1 && Object.values(others).every((value) => value === undefined)
}

/** The entries that a filter asks for, each with how many jobs have it, counted up to a limit. */
export function entriesStatement(dialect: Sql['dialect'], filter: JobFilter, limit: number): Fragment {
  const json = JSON.stringify(filter.meta)
  const { key, value, where } = META_ROW
  const entries =
    dialect === 'postgres'
      ? q`{meta_entries_v1}(cast(${json} as jsonb))`
      : q`(select ${raw(`${key} as key, ${value} as value`)} from json_each(${json}) e where ${raw(where)})`
  const same = all([raw('m.key = w.key and m.value = w.value'), ...createdWithin('m', filter)])
  return q`select w.key, w.value, (
    select count(*) from (select 1 from {job_meta} m where ${same} limit ${limit}) c) as n from ${entries} w`
}
