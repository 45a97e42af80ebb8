import { JOB_STATUSES } from '@oncue/core'
import type { Sql } from '../sql.ts'
import type { JobFilter, JobPage, PageRequest } from '../store.ts'
import { countJobs } from './counts.ts'
import { decodeCursor, encodeCursor, type Place } from './cursor.ts'
import { checkFilter, invalid } from './filter.ts'
import { type Fragment, join, q, raw } from './fragment.ts'
import { type ByMeta, byMeta, type MetaEntry, TOTAL_UP_TO } from './meta.ts'
import { each } from './scan.ts'
import { type Selection, type Sources, sourcesOf } from './sources.ts'
import { decodeSummary, FINISHED_COLUMNS, LIVE_COLUMNS, type SummaryRow, timeOf } from './summary.ts'
import { behind, isSearch, windows } from './windows.ts'

/** Where no counter knows the total, counting stops here; and so many jobs are looked up by their meta. */
const COUNT_UP_TO = 10_000

/**
 * How long a search may look for more before it answers with what it has; a window that is begun is
 * finished. A SQLite file is read in this process, which does nothing else meanwhile.
 */
const SEARCH_MS = { postgres: 1_000, sqlite: 200 }

/** How long the rest of a search may be counted. People wait for a page, hardly ever for its total. */
const COUNT_MS = 10

type Patience = { readonly searchMs?: number; readonly countMs?: number; readonly rare?: number }

export async function list(
  sql: Sql,
  filter: JobFilter,
  page: PageRequest,
  { searchMs = SEARCH_MS[sql.dialect], countMs = COUNT_MS, rare = COUNT_UP_TO }: Patience = {},
): Promise<JobPage> {
  checkFilter(filter)
  const { limit = 50, offset = 0, cursor } = page
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw invalid('limit', 'must be from 1 to 1000')
  if (!Number.isSafeInteger(offset) || offset < 0) throw invalid('offset', 'must be a whole number from 0')
  if (cursor !== undefined && offset > 0) throw invalid('offset', 'cannot be combined with a cursor')
  const after = cursor === undefined ? undefined : decodeCursor(cursor, filter)

  const way = await byMeta(sql, filter, rare)
  const by = way?.entry
  const [{ rows, rest }, counts] = await Promise.all([
    rowsOf(sql, { filter, by, after, limit, offset, searchMs }),
    onlyCounted(filter) ? countJobs(sql, filter) : undefined,
  ])
  const items = rows.slice(0, limit).map((row) => decodeSummary(sql, row))
  const next = rows.length > limit ? items.at(-1) : rest
  const total = async () => {
    if (counts) return { total: filter.status ? counts[filter.status] : sumOf(counts), totalIsExact: true }
    const seen = items.length && offset + items.length
    // What took too long to look for takes too long to count.
    if (next ? next === rest : !after && offset === 0) return { total: seen, totalIsExact: !next }
    const counted = way?.isAll
      ? upTo(way.count, null, TOTAL_UP_TO)
      : await countMatches(sql, filter, way, countMs)
    return { ...counted, total: Math.max(seen, counted.total) }
  }
  return { items, nextCursor: next ? encodeCursor(next, filter) : null, ...(await total()) }
}

/** Counters know queue, topic and status, and nothing else. */
function onlyCounted({ status, queue, topic, ...others }: JobFilter): boolean {
  return Object.values(others).every((value) => value === undefined)
}

const sumOf = (counts: Awaited<ReturnType<typeof countJobs>>) =>
  JOB_STATUSES.reduce((sum, status) => sum + counts[status], 0)

type Wanted = {
  readonly filter: JobFilter
  readonly by: MetaEntry | undefined
  readonly after: Place | undefined
  readonly limit: number
  readonly offset: number
  readonly searchMs: number
}

/** One row more than asked for, which tells whether there is another page; and where a search stopped early. */
async function rowsOf(sql: Sql, wanted: Wanted): Promise<{ rows: SummaryRow[]; rest: Place | null }> {
  const { filter, by, after, limit, offset, searchMs } = wanted
  const read = async (selection: Selection, skip: number) => {
    const statement = pageStatement(sql.dialect, selection, skip)
    return statement ? sql.walk<SummaryRow>(statement) : []
  }
  const enough = offset + limit + 1
  if (!isSearch(filter, by))
    return { rows: await read({ filter, by, after, direction: 'desc', limit: enough }, offset), rest: null }
  const rows: SummaryRow[] = []
  const { rest } = await search(sql, filter, after, searchMs, async (part) => {
    rows.push(...(await read({ ...part, by, direction: 'desc', limit: enough - rows.length }, 0)))
    return rows.length < enough
  })
  return { rows: rows.slice(offset), rest }
}

/** Window by window while `look` wants more, until the end or until it took too long: then there is a rest. */
async function search(
  sql: Sql,
  filter: JobFilter,
  start: Place | undefined,
  searchMs: number,
  look: (part: { readonly filter: JobFilter; readonly after: Place | undefined }) => Promise<boolean>,
): Promise<{ rest: Place | null }> {
  const deadline = performance.now() + searchMs
  for await (const { after, from } of windows(sql, filter, start)) {
    const wantsMore = await look({ filter: from ? { ...filter, createdFrom: from } : filter, after })
    if (from && (!wantsMore || performance.now() > deadline)) return { rest: behind(from) }
  }
  return { rest: null }
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
  return q`${withAll([...sources.ctes, page])}
    select ${raw(LIVE_COLUMNS)} from ${rowsIn(1, 'jobs')}
    union all
    select ${raw(FINISHED_COLUMNS)} from ${rowsIn(0, 'history')}
    order by created desc, id desc`
}

async function countMatches(
  sql: Sql,
  filter: JobFilter,
  way: ByMeta | null,
  countMs: number,
): Promise<Pick<JobPage, 'total' | 'totalIsExact'>> {
  const by = way?.entry
  const lookUpTo = by && TOTAL_UP_TO
  const count = async (part: JobFilter, after: Place | undefined) => {
    const statement = countStatement(sql.dialect, { filter: part, by, lookUpTo, after })
    const [row] = statement ? await sql.walk<{ n: number }>(statement) : []
    return row?.n ?? 0
  }
  if (way && way.count > TOTAL_UP_TO) return { total: await count(filter, undefined), totalIsExact: false }
  if (!isSearch(filter, by)) return upTo(await count(filter, undefined), null)
  let n = 0
  const { rest } = await search(sql, filter, undefined, countMs, async (part) => {
    n += await count(part.filter, part.after)
    return n <= COUNT_UP_TO
  })
  return upTo(n, rest)
}

function upTo(n: number, rest: Place | null, most = COUNT_UP_TO): Pick<JobPage, 'total' | 'totalIsExact'> {
  return { total: Math.min(n, most), totalIsExact: n <= most && !rest }
}

export function countStatement(
  dialect: Sql['dialect'],
  selection: Omit<Selection, 'direction' | 'limit'>,
): Fragment | null {
  const limit = COUNT_UP_TO + 1
  const sources = sourcesOf(dialect, { ...selection, direction: 'desc', limit })
  if (!sources) return null
  return q`${withAll(sources.ctes)} select count(*) as n from (select 1 from (${sources.found}) f limit ${limit}) c`
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
  const by = (await byMeta(sql, filter, COUNT_UP_TO))?.entry
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
  return q`${withAll(sources.ctes)}
    select created, id from (${sources.found}) f order by created, id limit ${limit}`
}

function withAll(ctes: readonly Fragment[]): Fragment {
  return ctes.length ? q`with recursive ${join(ctes, ', ')}` : raw('')
}
