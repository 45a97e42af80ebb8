import { JOB_STATUSES } from '@oncue/core'
import { wantedStates } from '@oncue/core/wire'
import type { JobFilter, JobPage, PageRequest } from '../../store.ts'
import { type Fragment, q, raw, type Sql, timeOf, withCtes } from '../sql.ts'
import { withChildrenLeft } from './child-waits.ts'
import { countJobs } from './counts.ts'
import { type Direction, decodeCursor, encodeCursor, type ListPosition } from './cursor.ts'
import { checkFilter, type DatedFilter, invalid, mayBeLive, waitingStatesOf, withoutTexts } from './filter.ts'
import { SUMMARY, type SummaryRow } from './jobs.ts'
import { each } from './scan.ts'
import { byMeta, firstPositions, HIGHEST_ID, nearby, search, type Wanted, windowsOf } from './search.ts'
import { type Selection, type Sources, sourcesOf } from './sources.ts'

/**
 * How long a search may take before it returns what it has. A SQLite file is read in this process,
 * which is blocked meanwhile. Along a value of meta it is as fast as other lists, or continues from a cursor.
 */
const SEARCH_MS = { postgres: 1_000, sqlite: 200 }
const META_SEARCH_MS = 40

/**
 * A full page is read of each topic and queue, and most of it discarded. For large pages it pays to
 * estimate first how far back they reach.
 */
const MANY = 200
const SAMPLE = 50

type Patience = {
  readonly searchMs?: number
  readonly countMs?: number
  readonly lookUpTo?: number
  readonly liveUpTo?: number
}

export async function list(
  sql: Sql,
  given: JobFilter,
  page: PageRequest,
  { searchMs, countMs, lookUpTo = LOOK_UP_TO, liveUpTo = LIVE_UP_TO }: Patience = {},
): Promise<JobPage> {
  checkFilter(given)
  const { limit = 50, offset = 0, cursor, order = 'newest' } = page
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw invalid('limit', 'must be from 1 to 1000')
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw invalid('offset', 'must be a whole number of 0 or more')
  if (cursor !== undefined && offset > 0) throw invalid('offset', 'cannot be combined with a cursor')
  if (order !== 'newest' && order !== 'oldest') throw invalid('order', 'must be newest or oldest')
  const direction: Direction = order === 'newest' ? 'desc' : 'asc'
  // What is the same list has the same cursors.
  const listed = { ...given, status: wantedStates(given)?.join(), ...(order === 'oldest' && { order }) }
  const after = cursor === undefined ? undefined : decodeCursor(cursor, listed)

  const filter = await dated(sql, given)
  const way = await byMeta(sql, filter, lookUpTo)
  const wanted = {
    filter,
    direction,
    way,
    windowsFrom: await windowsOf(sql, filter, direction, way, lookUpTo),
  }
  const [{ rows, rest }, counted] = await Promise.all([
    rowsOf(sql, wanted, { after, limit, offset }, searchMs),
    countedTotal(sql, given, liveUpTo),
  ])
  const items = await withChildrenLeft(
    sql,
    rows.slice(0, limit).map((row) => SUMMARY.decode(sql, row)),
  )
  const next = rows.length > limit ? items.at(-1) : rest
  const total = async (): Promise<Total> => {
    const seen = items.length && offset + items.length
    if (counted) return { ...counted, total: Math.max(seen, counted.total) }
    // A search that took too long would take too long to count.
    if (next ? next === rest : !after && offset === 0) return { total: seen, totalIsExact: !next }
    const found = await countMatches(sql, wanted, items, countMs)
    return { ...found, total: Math.max(seen, found.total) }
  }
  return { items, nextCursor: next ? encodeCursor(next, listed) : null, ...(await total()) }
}

async function dated(sql: Sql, filter: JobFilter): Promise<DatedFilter> {
  return waitingStatesOf(filter) ? { ...filter, now: await sql.now() } : filter
}

type Page = { readonly after: ListPosition | undefined; readonly limit: number; readonly offset: number }

/** One row more than asked for, which shows whether there is another page; and where a search stopped early. */
async function rowsOf(
  sql: Sql,
  { filter, direction, way, windowsFrom }: Wanted,
  { after, limit, offset }: Page,
  searchMs = way && !filter.payloadText ? META_SEARCH_MS : SEARCH_MS[sql.dialect],
): Promise<{ rows: SummaryRow[]; rest: ListPosition | null }> {
  const by = way?.entry
  const read = async (selection: Selection, skip: number) => {
    const statement = pageStatement(sql.dialect, selection, skip)
    return statement ? sql.walk<SummaryRow>(statement) : []
  }
  const enough = offset + limit + 1
  if (!windowsFrom) {
    const readOnce = (part: JobFilter) => read({ filter: part, by, after, direction, limit: enough }, offset)
    const near =
      !by &&
      enough > MANY &&
      nearby(filter, direction, await firstPositions(sql, filter, direction, after, SAMPLE), enough)
    const rows = near ? await readOnce({ ...filter, ...near.within }) : []
    return { rows: rows.length > limit ? rows : await readOnce(filter), rest: null }
  }
  const rows: SummaryRow[] = []
  const look = async (part: { readonly filter: JobFilter; readonly after: ListPosition | undefined }) => {
    rows.push(...(await read({ ...part, by, direction, limit: enough - rows.length }, 0)))
    return rows.length < enough
  }
  const rest = await search(windowsFrom(after), { filter, direction }, searchMs, look, sql.runtime)
  return { rows: rows.slice(offset), rest }
}

/** First the positions, which are narrow, from all sources; then the rows of those that are on the page. */
export function pageStatement(
  dialect: Sql['dialect'],
  selection: Selection,
  offset: number,
): Fragment | null {
  const sources = sourcesOf(dialect, selection)
  if (!sources) return null
  const rowsIn = (live: 0 | 1, table: 'jobs' | 'history') =>
    each(dialect, raw(`(select * from page where live = ${live})`), {
      table,
      index: null,
      where: raw('x.id = o.id'),
      limit: 1,
    })
  const order = raw(`created ${selection.direction}, id ${selection.direction}`)
  const page = q`page as materialized (
    select live, created, id from (${sources.found}) f
    order by ${order} limit ${selection.limit - offset} offset ${offset})`
  return q`${withCtes([...sources.ctes, page])}
    select ${raw(SUMMARY.live)} from ${rowsIn(1, 'jobs')}
    union all
    select ${raw(SUMMARY.finished)} from ${rowsIn(0, 'history')}
    order by ${order}`
}

/** Ids in the order of their positions, and where to continue. */
export type Batch = { readonly ids: string[]; readonly next: ListPosition | null }

/**
 * The jobs that matched at a given moment, oldest first, in bounded batches: for actions on many jobs.
 * Changes to earlier batches do not move the later ones.
 */
export type Match = (
  filter: JobFilter,
  asOf: Date,
  after: ListPosition | null,
  limit: number,
) => Promise<Batch>
type Matching = (sql: Sql, ...given: Parameters<Match>) => Promise<Batch>

const matchingIds: Matching = async (sql, filter, asOf, after, limit) => {
  const by = (await byMeta(sql, filter, LOOK_UP_TO))?.entry
  const selection = { filter, by, asOf, after: after ?? undefined, limit }
  const sources = sourcesOf(sql.dialect, { ...selection, direction: 'asc' })
  if (!sources) return { ids: [], next: null }
  const rows = await sql.walk<{ created: unknown; id: string }>(idsStatement(sources, limit))
  const last = rows.at(-1)
  return {
    ids: rows.map(({ id }) => id),
    next: last && rows.length === limit ? { created: timeOf(sql, last.created), id: last.id } : null,
  }
}

export function idsStatement(sources: Sources, limit: number): Fragment {
  return q`${withCtes(sources.ctes)}
    select created, id from (${sources.found}) f order by created, id limit ${limit}`
}

/** How many payloads one call reads, and those of all jobs that were made in the same millisecond as the last. */
const READ_AT_MOST = { postgres: 2_000, sqlite: 500 }

/**
 * `matchingIds` in bounded steps, also for a text in payloads or errors and for the end of an id: millions of jobs
 * may have to be read to find five hundred, and on SQLite this process is blocked meanwhile. So it reads window by
 * window. A batch may be empty and still have a next one.
 */
export const matching: Matching = async (sql, filter, asOf, after, limit) => {
  checkFilter(filter)
  const { payloadText, errorText, idSuffix } = filter
  if (payloadText === undefined && errorText === undefined && idSuffix === undefined)
    return matchingIds(sql, filter, asOf, after, limit)
  const most = READ_AT_MOST[sql.dialect]
  const { next: end } = await matchingIds(sql, withoutTexts(filter), asOf, after, most)
  if (!end) return matchingIds(sql, filter, asOf, after, limit)
  const createdTo = new Date(end.created.getTime() + 1)
  const found = await matchingIds(sql, { ...filter, createdTo }, asOf, after, limit)
  return { ids: found.ids, next: found.next ?? { created: end.created, id: HIGHEST_ID } }
}

type Total = Pick<JobPage, 'total' | 'totalIsExact'>

/** Where no counter knows the total, counting stops here. */
const COUNT_UP_TO = 10_000

/** Live jobs have no counters. How many are read for a total: a list takes 50 ms, also while a million jobs retry. */
const LIVE_UP_TO = 100_000

/** How many jobs are looked up by their meta at once: each may be on a page of its own. */
const LOOK_UP_TO = 2_000

/** How long the rest of a search may be counted. People wait for a page, rarely for its total. */
const COUNT_MS = 20

const EVERY_STATE = [...JOB_STATUSES, 'suspended'] as const

/** The total from counters, which are kept by queue, topic and status only; otherwise null. */
async function countedTotal(sql: Sql, filter: JobFilter, liveUpTo: number): Promise<Total | null> {
  const { status, queue, topic, ...others } = filter
  if (Object.values(others).some((value) => value !== undefined)) return null
  const counts = await countJobs(sql, { queue, topic }, mayBeLive(filter) ? liveUpTo : 0)
  const states = wantedStates({ status }) ?? EVERY_STATE
  return {
    total: states.reduce((sum, name) => sum + counts[name], 0),
    totalIsExact: counts.isExact || !mayBeLive(filter),
  }
}

/** `page` is a page of the list that is counted. */
async function countMatches(
  sql: Sql,
  { filter, direction, way, windowsFrom }: Wanted,
  page: readonly ListPosition[],
  countMs = COUNT_MS,
): Promise<Total> {
  if (way?.isAll) return { total: way.count, totalIsExact: way.isFew }
  const by = way?.entry
  let n = 0
  const count = async (part: { readonly filter: JobFilter; readonly after?: ListPosition | undefined }) => {
    const statement = countStatement(sql.dialect, { ...part, by, ...(part.after && { direction }) })
    const [row] = statement ? await sql.walk<{ n: number }>(statement) : []
    n += row?.n ?? 0
    return n <= COUNT_UP_TO
  }
  const upTo = (isAll: boolean) => ({
    total: Math.min(n, COUNT_UP_TO),
    totalIsExact: isAll && n <= COUNT_UP_TO,
  })
  const wanted = { filter, direction }
  if (windowsFrom) return upTo(!(await search(windowsFrom(undefined), wanted, countMs, count, sql.runtime)))
  // Jobs of a short time are neighbours on the disk, of whatever topic. Ten thousand of one topic are not.
  const near = nearby(filter, direction, page, COUNT_UP_TO)
  const isNotEnough = near ? await count({ filter: { ...filter, ...near.within } }) : true
  if (isNotEnough) await count({ filter: near ? { ...filter, ...near.beyond } : filter })
  return upTo(true)
}

export function countStatement(
  dialect: Sql['dialect'],
  selection: Omit<Selection, 'direction' | 'limit'> & { readonly direction?: Direction },
): Fragment | null {
  const limit = COUNT_UP_TO + 1
  const sources = sourcesOf(dialect, { direction: 'desc', ...selection, limit })
  if (!sources) return null
  return q`${withCtes(sources.ctes)} select count(*) as n from (select 1 from (${sources.found}) f limit ${limit}) c`
}
