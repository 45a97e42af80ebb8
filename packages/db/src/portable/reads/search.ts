import type { Runtime } from '@oncue/runtime'
import type { JobFilter } from '../../store.ts'
import { q, type Sql, timeOf, withCtes } from '../sql.ts'
import type { ListPosition } from './cursor.ts'
import { narrowPrefix, withoutTexts } from './filter.ts'
import { entriesStatement, type MetaEntry, momentOf } from './meta.ts'
import { sourcesOf } from './sources.ts'

/** The conditions of a list, and how it is found. */
export type Wanted = {
  readonly filter: JobFilter
  readonly way: ByMeta | null
  /** Set for a search. Null: an index serves the whole filter. */
  readonly windowsFrom: ((start: ListPosition | undefined) => AsyncGenerator<Window>) | null
}

export function windowsOf(
  sql: Sql,
  filter: JobFilter,
  way: ByMeta | null,
  lookUpTo: number,
): Wanted['windowsFrom'] {
  if (!way) return isSearch(filter) ? (start) => windows(sql, filter, start) : null
  if (way.isAll || (way.isFew && !filter.payloadText)) return null
  return (start) => windowsAlong(sql, way.entry, filter, start, Math.ceil(lookUpTo / 2))
}

/**
 * Reads window by window while `look` wants more, until the end, or until the next window, which may be twice as
 * large and not cached, would take too long: then a rest is left.
 */
export async function search(
  windows: AsyncGenerator<Window>,
  filter: JobFilter,
  searchMs: number,
  look: (part: { readonly filter: JobFilter; readonly after: ListPosition | undefined }) => Promise<boolean>,
  runtime: Runtime,
): Promise<ListPosition | null> {
  const deadline = runtime.monotonic() + searchMs
  let begun = runtime.monotonic()
  for await (const { after, from } of windows) {
    const wantsMore = await look({ filter: from ? { ...filter, createdFrom: from } : filter, after })
    const now = runtime.monotonic()
    if (from && (!wantsMore || now + 2 * (now - begun) > deadline)) return behind(from)
    begun = now
  }
  return null
}

/** About how many jobs the first window holds. */
const FIRST_WINDOW = 200
/**
 * How many jobs a window holds at most, plus the others of its last millisecond. A SQLite file is read in this
 * process, which is blocked during a statement.
 */
export const MOST_AT_ONCE = { postgres: null, sqlite: 500 }
const LOWEST_ID = '00000000-0000-0000-0000-000000000000'

/** A window of the list, from after one position down to a time; null: to the end. */
type Window = { readonly after: ListPosition | undefined; readonly from: Date | null }

/**
 * No index covers payloads, errors, the ends of ids, short prefixes, or meta together with something else: jobs have
 * to be read one by one.
 */
function isSearch({ meta, payloadText, errorText, idPrefix, idSuffix }: JobFilter): boolean {
  // With a long prefix, few jobs are left to be read.
  if (idPrefix && narrowPrefix(idPrefix)) return Object.keys(meta ?? {}).length > 0 || !!payloadText
  return [meta && Object.keys(meta).length, payloadText, errorText, idPrefix, idSuffix].some(Boolean)
}

/**
 * Cuts a search into windows of time, each twice as long as the one before. Searched in one piece, each topic
 * would be walked until it had a full page by itself, which for a rare value is to its very end, and the search
 * could not be stopped. The caller leaves the loop when it has enough or has run out of time.
 */
async function* windows(
  sql: Sql,
  filter: JobFilter,
  after: ListPosition | undefined,
): AsyncGenerator<Window> {
  const { meta, idPrefix, ...indexed } = withoutTexts(filter)
  const start = after?.created ?? filter.createdTo ?? (await sql.now())
  const last = (await firstPositions(sql, indexed, after, FIRST_WINDOW))[FIRST_WINDOW - 1]
  const oldest = filter.createdFrom?.getTime() ?? 0
  let from = last?.created.getTime() ?? oldest
  let position = after
  for (let top = start.getTime(); ; ) {
    const within = from > oldest ? { ...indexed, createdFrom: new Date(from) } : indexed
    const most = MOST_AT_ONCE[sql.dialect]
    const full = most && (await firstPositions(sql, within, position, most))[most - 1]
    if (full) from = full.created.getTime()
    else if (from <= oldest) break
    yield { after: position, from: new Date(from) }
    position = behind(new Date(from))
    const span = 2 * Math.max(1, top - from)
    top = from
    from -= span
  }
  yield { after: position, from: null }
}

/** The same along an entry of the meta, a fixed number of its jobs at a time. */
async function* windowsAlong(
  sql: Sql,
  entry: MetaEntry,
  filter: JobFilter,
  after: ListPosition | undefined,
  size: number,
): AsyncGenerator<Window> {
  let position = after
  for (;;) {
    const from = await momentOf(sql, entry, filter, position, size)
    yield { after: position, from }
    if (!from) return
    position = behind(from)
  }
}

/** The position after everything of this moment. */
function behind(moment: Date): ListPosition {
  return { created: moment, id: LOWEST_ID }
}

/** The first n jobs of a list after a position, for a filter that indexes serve. */
export async function firstPositions(
  sql: Sql,
  filter: JobFilter,
  after: ListPosition | undefined,
  n: number,
): Promise<ListPosition[]> {
  const sources = sourcesOf(sql.dialect, { filter, after, direction: 'desc', limit: n })
  if (!sources) return []
  const rows = await sql.walk<{ created: unknown; id: string }>(
    q`${withCtes(sources.ctes)} select created, id from (${sources.found}) f order by created desc, id desc limit ${n}`,
  )
  return rows.map(({ created, id }) => ({ created: timeOf(sql, created), id }))
}

/**
 * Since when there are probably n jobs, if others come as often as those of a page; null when the page does not
 * show it, or when that is before the time of the filter.
 */
export function sinceWhen({ createdFrom }: JobFilter, page: readonly ListPosition[], n: number): Date | null {
  const [first, last] = [page[0]?.created.getTime(), page.at(-1)?.created.getTime()]
  if (first === undefined || last === undefined) return null
  const since = last - ((first - last) * 2 * n) / page.length
  return since > (createdFrom?.getTime() ?? 0) ? new Date(since) : null
}

/** Jobs are looked up in job_meta, one after the other in the order of the list. */
type ByMeta = {
  readonly entry: MetaEntry
  /** How many jobs have it; a lower bound if they are many. */
  readonly count: number
  readonly isFew: boolean
  /** The filter has no other condition. */
  readonly isAll: boolean
}

/** How far back this many jobs of each side reach shows which of the two is the rarer. */
const SAMPLE = 50

/** Keys and values are cut off at this length in job_meta. */
const CUT_AT = 200

/**
 * Whether job_meta is the best way to the matches of a filter: if at most `few` jobs have one of its values, if no
 * index covers the other conditions, or if the value is rarer than those. Otherwise null: the walk would mostly
 * meet jobs that do not match.
 */
export async function byMeta(sql: Sql, filter: JobFilter, few: number): Promise<ByMeta | null> {
  const { meta = {}, idPrefix, createdFrom, createdTo, ...indexed } = withoutTexts(filter)
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
  const last = (await firstPositions(sql, others, undefined, SAMPLE))[SAMPLE - 1]
  return last && last.created.getTime() >= since ? way : null
}

/** One value of meta, and at most a time range. */
function asksOnlyFor({ meta = {}, createdFrom, createdTo, ...others }: JobFilter): boolean {
  return Object.keys(meta).length === 1 && Object.values(others).every((value) => value === undefined)
}
