import type { JobFilter } from '../../store.ts'
import { all, type Fragment, q, raw, type Sql, timeOf } from '../sql.ts'
import type { Direction, ListPosition } from './cursor.ts'
import { createdWithin } from './filter.ts'

/** An entry of a job's meta as job_meta stores it. */
export type MetaEntry = { readonly key: string; readonly value: string }

const NEWEST_FIRST = raw('order by m.created desc, m.job_id desc')

/** Of an entry `e` of json_each: its row on SQLite; the function meta_entries makes it on Postgres. */
export const META_ROW = {
  key: `substr(e.key, 1, 200)`,
  value: `substr(CASE e.type WHEN 'text' THEN json_quote(e.value) WHEN 'true' THEN e.type WHEN 'false' THEN e.type ELSE e.value END, 1, 200)`,
  /** Whether it has a row: a text, a number, true or false. */
  where: `e.atom IS NOT NULL`,
}

/** The entries that a filter asks for, each with how many jobs have it, counted up to a limit, and with the moment of the nth. */
export function entriesStatement(
  dialect: Sql['dialect'],
  filter: JobFilter,
  { limit, nth }: { readonly limit: number; readonly nth: number },
): Fragment {
  const json = JSON.stringify(filter.meta)
  const { key, value, where } = META_ROW
  const entries =
    dialect === 'postgres'
      ? q`{meta_entries}(cast(${json} as jsonb))`
      : q`(select ${raw(`${key} as key, ${value} as value`)} from json_each(${json}) e where ${raw(where)})`
  const same = all([raw('m.key = w.key and m.value = w.value'), ...createdWithin('m', filter)])
  return q`select w.key, w.value,
    (select count(*) from (select 1 from {job_meta} m where ${same} ${NEWEST_FIRST} limit ${limit}) c) as n,
    (select m.created from {job_meta} m where ${same} ${NEWEST_FIRST} limit 1 offset ${nth - 1}) as since
    from ${entries} w`
}

/** Conditions on a row `m` of job_meta: it has this entry, and is in the time of a filter, after a position. */
export function having(
  { key, value }: MetaEntry,
  filter: JobFilter,
  after: ListPosition | undefined,
  direction: Direction,
): Fragment {
  const beyond = raw(direction === 'desc' ? '<' : '>')
  return all([
    q`m.key = ${key} and m.value = ${value}`,
    ...createdWithin('m', filter),
    ...(after ? [q`(m.created, m.job_id) ${beyond} (${after.created}, ${after.id})`] : []),
  ])
}

/** The time of the nth job after a position that has an entry; null when there are fewer. */
export async function momentOf(
  sql: Sql,
  entry: MetaEntry,
  filter: JobFilter,
  direction: Direction,
  after: ListPosition | undefined,
  nth: number,
): Promise<Date | null> {
  const where = having(entry, filter, after, direction)
  const order = raw(`m.created ${direction}, m.job_id ${direction}`)
  const [row] = await sql.walk<{ created: unknown }>(
    q`select m.created from {job_meta} m where ${where} order by ${order} limit 1 offset ${nth - 1}`,
  )
  return row ? timeOf(sql, row.created) : null
}
