import type { JobFilter, JobPage, PageRequest } from '../../store.ts'
import { type Fragment, q, raw, type Sql, timeOf, withCtes } from '../sql.ts'
import { byMeta } from './by-meta.ts'
import { decodeCursor, encodeCursor, type Place } from './cursor.ts'
import { checkFilter, invalid } from './filter.ts'
import { each } from './scan.ts'
import { search, type Wanted, windowsOf } from './search.ts'
import { type Selection, type Sources, sourcesOf } from './sources.ts'
import { SUMMARY, type SummaryRow } from './summary.ts'
import { countedTotal, countMatches, LOOK_UP_TO, type Total } from './total.ts'
import { firstPlaces, sinceWhen } from './windows.ts'

/**
 * How long a search may take before it answers with what it has. A SQLite file is read in this process,
 * which does nothing else meanwhile. Along a value of meta it is as fast as other lists, or goes on from a cursor.
 */
const SEARCH_MS = { postgres: 1_000, sqlite: 200 }
const META_SEARCH_MS = 40

/**
 * As many as are wanted are taken of each topic and queue, and most of them for nothing. If they are many, it
 * pays to find out first how far back they reach.
 */
const MANY = 200
const SAMPLE = 50

type Patience = { readonly searchMs?: number; readonly countMs?: number; readonly lookUpTo?: number }

export async function list(
  sql: Sql,
  filter: JobFilter,
  page: PageRequest,
  { searchMs, countMs, lookUpTo = LOOK_UP_TO }: Patience = {},
): Promise<JobPage> {
  checkFilter(filter)
  const { limit = 50, offset = 0, cursor } = page
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw invalid('limit', 'must be from 1 to 1000')
  if (!Number.isSafeInteger(offset) || offset < 0) throw invalid('offset', 'must be a whole number from 0')
  if (cursor !== undefined && offset > 0) throw invalid('offset', 'cannot be combined with a cursor')
  const after = cursor === undefined ? undefined : decodeCursor(cursor, filter)

  const way = await byMeta(sql, filter, lookUpTo)
  const wanted = { filter, way, windowsFrom: windowsOf(sql, filter, way, lookUpTo) }
  const [{ rows, rest }, counted] = await Promise.all([
    rowsOf(sql, wanted, { after, limit, offset }, searchMs),
    countedTotal(sql, filter),
  ])
  const items = rows.slice(0, limit).map((row) => SUMMARY.decode(sql, row))
  const next = rows.length > limit ? items.at(-1) : rest
  const total = async (): Promise<Total> => {
    if (counted) return counted
    const seen = items.length && offset + items.length
    // What took too long to look for takes too long to count.
    if (next ? next === rest : !after && offset === 0) return { total: seen, totalIsExact: !next }
    const found = await countMatches(sql, wanted, items, countMs)
    return { ...found, total: Math.max(seen, found.total) }
  }
  return { items, nextCursor: next ? encodeCursor(next, filter) : null, ...(await total()) }
}

type Page = { readonly after: Place | undefined; readonly limit: number; readonly offset: number }

/** One row more than asked for, which tells whether there is another page; and where a search stopped early. */
async function rowsOf(
  sql: Sql,
  { filter, way, windowsFrom }: Wanted,
  { after, limit, offset }: Page,
  searchMs = way && !filter.payloadText ? META_SEARCH_MS : SEARCH_MS[sql.dialect],
): Promise<{ rows: SummaryRow[]; rest: Place | null }> {
  const by = way?.entry
  const read = async (selection: Selection, skip: number) => {
    const statement = pageStatement(sql.dialect, selection, skip)
    return statement ? sql.walk<SummaryRow>(statement) : []
  }
  const enough = offset + limit + 1
  if (!windowsFrom) {
    const readOnce = (part: JobFilter) =>
      read({ filter: part, by, after, direction: 'desc', limit: enough }, offset)
    const since =
      !by && enough > MANY && sinceWhen(filter, await firstPlaces(sql, filter, after, SAMPLE), enough)
    const rows = since ? await readOnce({ ...filter, createdFrom: since }) : []
    return { rows: rows.length > limit ? rows : await readOnce(filter), rest: null }
  }
  const rows: SummaryRow[] = []
  const look = async (part: { readonly filter: JobFilter; readonly after: Place | undefined }) => {
    rows.push(...(await read({ ...part, by, direction: 'desc', limit: enough - rows.length }, 0)))
    return rows.length < enough
  }
  const rest = await search(windowsFrom(after), filter, searchMs, look, sql.runtime)
  return { rows: rows.slice(offset), rest }
}

/** First the places, which are narrow, from all sources; then the rows of those that are on the page. */
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
  const page = q`page as materialized (
    select live, created, id from (${sources.found}) f
    order by created desc, id desc limit ${selection.limit - offset} offset ${offset})`
  return q`${withCtes([...sources.ctes, page])}
    select ${raw(SUMMARY.live)} from ${rowsIn(1, 'jobs')}
    union all
    select ${raw(SUMMARY.finished)} from ${rowsIn(0, 'history')}
    order by created desc, id desc`
}

/** Ids in the order of their places, and from where to go on. */
export type Batch = { readonly ids: string[]; readonly next: Place | null }

/**
 * The jobs that matched at a moment, oldest first, one bounded batch after the other: for what people
 * do to many jobs at once. What was done to earlier batches does not move the later ones.
 */
export async function matchingIds(
  sql: Sql,
  filter: JobFilter,
  asOf: Date,
  after: Place | null,
  limit: number,
): Promise<Batch> {
  checkFilter(filter)
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
