import { type Fragment, q, raw, type Sql } from '../sql.ts'

type Dialect = Sql['dialect']

export type Scan = {
  readonly table: 'jobs' | 'history'
  /** The one that it walks; null is the primary key. */
  readonly index: 'jobs_listed' | 'history_completed' | 'history_unsuccessful' | 'history_fingerprint' | null
  /** Over `x`, a row of the table, and `o`, a row of the outer query. */
  readonly where: Fragment
  readonly order?: Fragment | undefined
  readonly limit: number
}

/** An outer query of one row. */
export const ONCE = raw('(select 1 as one)')

/**
 * For each row `o` of an outer query, the first rows `n` of a table: one short walk along an index for
 * each, however large the table is. Postgres has LATERAL for it. SQLite has not, but it looks up
 * `id in (…)` by the primary key and computes the list anew for each outer row; there the index is
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
 * The same on SQLite for the newest positions alone, `n.created` and `n.id`, where the index knows all that is
 * asked for: no row of the table is looked up. Whatever shares the last moment comes too. There must be one
 * lower bound on `created` and no other, or the walk could begin at that one.
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

/** The same for what stands at the head of history_unsuccessful: topic, status and queue. */
export function distinctEnds(dialect: Dialect, name: string): Fragment {
  const only = `x.status <> 'completed'`
  const index = { table: 'history', index: 'history_unsuccessful', limit: 1 } as const
  const order = raw('x.topic, x.status, x.queue')
  const next = raw(`${only} and (x.topic, x.status, x.queue) > (o.topic, o.status, o.queue)`)
  const step =
    dialect === 'postgres' ? each(dialect, raw(name), { ...index, where: next, order }) : nextEnd(name, only)
  return q`${raw(name)}(topic, status, queue) as (
    select n.topic, n.status, n.queue from ${each(dialect, ONCE, { ...index, where: raw(only), order })}
    union all
    select n.topic, n.status, n.queue from ${step})`
}

/** SQLite compares rows too, but walks over all that are equal to the last one instead of stepping past them. */
function nextEnd(name: string, only: string): Fragment {
  const first = (where: string, order: string) =>
    `(select x.id from {history} x indexed by {history_unsuccessful} where ${only} and ${where} order by ${order} limit 1)`
  return raw(`${name} o cross join {history} n on n.id = coalesce(
    ${first('x.topic = o.topic and x.status = o.status and x.queue > o.queue', 'x.queue')},
    ${first('x.topic = o.topic and x.status > o.status', 'x.status, x.queue')},
    ${first('x.topic > o.topic', 'x.topic, x.status, x.queue')})`)
}
