import { type Fragment, q, raw, type Sql } from '../sql.ts'

type Dialect = Sql['dialect']

export type Scan = {
  readonly table: 'jobs' | 'history'
  /** The index that it walks; null is the primary key. */
  readonly index:
    | 'jobs_listed'
    | 'jobs_failing'
    | 'jobs_failing_listed'
    | 'history_completed'
    | 'history_unsuccessful'
    | 'history_fingerprint'
    | null
  /** Over `x`, a row of the table, and `o`, a row of the outer query. */
  readonly where: Fragment
  readonly order?: Fragment | undefined
  readonly limit: number
}

/** An outer query of one row. */
export const ONCE = raw('(select 1 as one)')

/**
 * For each row `o` of an outer query, the first rows `n` of a table: one short walk along an index for
 * each, however large the table is. Postgres has LATERAL for it. SQLite does not, but it looks up
 * `id in (…)` by the primary key and computes the list again for each outer row; there the index is
 * named, so that a plan that walks the table is an error instead of a slow read.
 */
export function each(
  dialect: Dialect,
  outer: Fragment,
  { table, index, where, order, limit }: Scan,
): Fragment {
  const sorted = order ? q`order by ${order}` : raw('')
  const rows = (columns: string, hint: string) =>
    q`select ${raw(columns)} from ${raw(`{${table}} x ${hint}`)} where ${where} ${sorted} limit ${limit}`
  if (dialect === 'postgres') return q`${outer} o cross join lateral (${rows('x.*', '')}) n`
  const hint = index ? `indexed by {${index}}` : ''
  return q`${outer} o cross join ${raw(`{${table}}`)} n on n.id in (${rows('x.id', hint)})`
}

/**
 * The same on SQLite for the newest positions alone, `n.created` and `n.id`, where the index covers all
 * conditions: no row of the table is read. All that share the last moment are included. There must be one
 * lower bound on `created` and no other, or the walk could start at that one.
 */
export function newestPositions(
  outer: Fragment,
  { table, index, where, order, limit }: Scan,
  since = new Date(0),
): Fragment {
  const from = raw(`{${table}} x indexed by {${index}}`)
  const last = q`select x.created from ${from} where ${where} and x.created >= ${since}
    order by ${order ?? raw('1')} limit 1 offset ${limit - 1}`
  return q`(select x.created, x.id from ${outer} o cross join ${from}
    on ${where} and x.created >= coalesce((${last}), ${since})) n`
}

/**
 * A CTE of the distinct topics at the head of an index, each found by one descent from the one before:
 * as many steps as there are topics, not as there are jobs.
 */
export function distinctTopics(
  dialect: Dialect,
  name: string,
  index: Pick<Scan, 'table' | 'index' | 'where'>,
): Fragment {
  const order = raw('x.topic')
  const next = q`${index.where} and x.topic > o.topic`
  return q`${raw(name)}(topic) as (
    select n.topic from ${each(dialect, ONCE, { ...index, order, limit: 1 })}
    union all
    select n.topic from ${each(dialect, raw(name), { ...index, where: next, order, limit: 1 })})`
}

/** The same for three columns at the head of an index, each combination once, and the first `most` at most. */
export function distinctHeads(
  dialect: Dialect,
  name: string,
  index: Pick<Scan, 'table' | 'index' | 'where'>,
  [a, b, c]: readonly [string, string, string],
  most?: number,
): Fragment {
  const of = (row: string) => `${row}.${a}, ${row}.${b}, ${row}.${c}`
  const order = raw(of('x'))
  const mayGoOn = most === undefined ? raw('1 = 1') : q`o.step < ${most}`
  const next = q`${mayGoOn} and ${index.where} and (${order}) > (${raw(of('o'))})`
  const following =
    dialect === 'postgres'
      ? each(dialect, raw(name), { ...index, where: next, order, limit: 1 })
      : q`${raw(name)} o cross join ${raw(`{${index.table}}`)} n on ${mayGoOn} and n.id = coalesce(
        ${headAfter(index, `x.${a} = o.${a} and x.${b} = o.${b} and x.${c} > o.${c}`, `x.${c}`)},
        ${headAfter(index, `x.${a} = o.${a} and x.${b} > o.${b}`, `x.${b}, x.${c}`)},
        ${headAfter(index, `x.${a} > o.${a}`, of('x'))})`
  return q`${raw(`${name}(${a}, ${b}, ${c}, step)`)} as (
    select ${raw(of('n'))}, 1 from ${each(dialect, ONCE, { ...index, order, limit: 1 })}
    union all
    select ${raw(of('n'))}, o.step + 1 from ${following})`
}

/** SQLite can compare rows too, but walks over all that are equal to the last one instead of skipping them. */
function headAfter(
  { table, index, where }: Pick<Scan, 'table' | 'index' | 'where'>,
  further: string,
  order: string,
): Fragment {
  return q`(select x.id from ${raw(`{${table}} x indexed by {${index}}`)}
    where ${where} and ${raw(further)} order by ${raw(order)} limit 1)`
}
