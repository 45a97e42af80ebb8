import { isFinished, LIMITS } from '@oncue/core'
import { statusesOf } from '@oncue/core/wire'
import type { Runtime } from '@oncue/runtime'
import type { JobFilter } from '../../store.ts'
import { q, raw, type Sql, timeOf, withCtes } from '../sql.ts'
import { counted, inQueueAndTopic } from './counts.ts'
import type { Direction, ListPosition } from './cursor.ts'
import { mayBeLive, mayHaveEnded, narrowPrefix, withoutTexts } from './filter.ts'
import { entriesStatement, type MetaEntry, momentOf } from './meta.ts'
import { sourcesOf } from './sources.ts'

/** The conditions of a list, and how it is found. */
export type Wanted = {
  readonly filter: JobFilter
  readonly direction: Direction
  readonly way: ByMeta | null
  /** Set for a search. Null: an index serves the whole filter. */
  readonly windowsFrom: ((start: ListPosition | undefined) => AsyncGenerator<Window>) | null
}

export async function windowsOf(
  sql: Sql,
  filter: JobFilter,
  direction: Direction,
  way: ByMeta | null,
  lookUpTo: number,
): Promise<Wanted['windowsFrom']> {
  if (!way) {
    const [amongCompleted, amongLive] = await Promise.all([
      isAmongCompleted(sql, filter),
      isAmongLive(sql, filter),
    ])
    if (!isSearch(filter) && !amongCompleted && !amongLive) return null
    const { meta, idPrefix, queue, status, ...others } = withoutTexts(filter)
    const indexed = {
      ...others,
      queue: amongCompleted || amongLive ? undefined : queue,
      status: amongLive ? withAllLive(filter) : status,
    }
    return (start) => windows(sql, filter, indexed, direction, start)
  }
  if (way.isAll || (way.isFew && !filter.payloadText)) return null
  return (start) => windowsAlong(sql, way.entry, { filter, direction }, start, Math.ceil(lookUpTo / 2))
}

/**
 * Reads window by window while `look` wants more, until the end, or until the next window, which may be twice as
 * large and not cached, would take too long: then a rest is left.
 */
export async function search(
  windows: AsyncGenerator<Window>,
  { filter, direction }: Pick<Wanted, 'filter' | 'direction'>,
  searchMs: number,
  look: (part: { readonly filter: JobFilter; readonly after: ListPosition | undefined }) => Promise<boolean>,
  runtime: Runtime,
): Promise<ListPosition | null> {
  const deadline = runtime.monotonic() + searchMs
  let begun = runtime.monotonic()
  for await (const { after, to } of windows) {
    const wantsMore = await look({ filter: to ? { ...filter, ...upTo(to, direction) } : filter, after })
    const now = runtime.monotonic()
    if (to && (!wantsMore || now + 2 * (now - begun) > deadline)) return behind(to, direction)
    begun = now
  }
  return null
}

/** About how many jobs the first window holds. */
const FIRST_WINDOW = 200
/**
 * How many jobs a window holds at most, plus the others of its last millisecond: jobs may have come much faster than
 * those of the window before. A SQLite file is read in this process, which is blocked during a statement.
 */
const MOST_AT_ONCE = { postgres: 20_000, sqlite: 500 }
const LOWEST_ID = '00000000-0000-0000-0000-000000000000'
export const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** A stretch of the list, from behind one position to a moment and all of it; null: to the end. */
type Window = { readonly after: ListPosition | undefined; readonly to: Date | null }

/**
 * No index covers payloads, errors, the ends of ids, short prefixes, or meta together with something else: jobs have
 * to be read one by one.
 */
function isSearch({ meta, payloadText, errorText, idPrefix, idSuffix }: JobFilter): boolean {
  // With a long prefix, few jobs are left to be read.
  if (idPrefix && narrowPrefix(idPrefix)) return Object.keys(meta ?? {}).length > 0 || !!payloadText
  return [meta && Object.keys(meta).length, payloadText, errorText, idPrefix, idSuffix].some(Boolean)
}

/** If a walk may meet more jobs than this that are not wanted, they are passed over window by window. */
const MOST_OF_OTHERS = 20_000

/**
 * Whether the walk of a queue meets many completed jobs of others. On Postgres its index has one byte of the queue (see
 * its migration), so a queue of ten jobs may have to be found among the millions of another.
 */
async function isAmongCompleted(sql: Sql, filter: JobFilter): Promise<boolean> {
  const { queue, topic, fingerprint, idPrefix } = filter
  if (sql.dialect === 'sqlite' || queue === undefined || !mayHaveEnded(filter, 'completed')) return false
  if (fingerprint !== undefined || (idPrefix && narrowPrefix(idPrefix))) return false
  const own = q`select topic from ${counted(inQueueAndTopic({ queue, topic }))} own`
  const others = q`queue <> ${queue} and hashtext(queue) >> 24 = hashtext(${queue}) >> 24 and topic in (${own})`
  const [row] = await sql.walk<{ n: number }>(
    q`select cast(coalesce(sum(completed), 0) as bigint) as n from ${counted(others)} others`,
  )
  return (row?.n ?? 0) > MOST_OF_OTHERS
}

/**
 * Whether the walk of live jobs may meet many that are not wanted: its index has neither queue nor status, and after an
 * outage a million jobs retry beside the few that run.
 */
async function isAmongLive(sql: Sql, filter: JobFilter): Promise<boolean> {
  const { queue, topic, status, fingerprint, idPrefix } = filter
  if (!mayBeLive(filter) || (queue === undefined && status === undefined)) return false
  if (fingerprint !== undefined || (idPrefix && narrowPrefix(idPrefix))) return false
  const [row] = await sql.walk<{ n: number }>(
    q`select count(*) as n from (
      select 1 from {jobs} x where x.topic <> '' and ${topic === undefined ? raw('1 = 1') : q`x.topic = ${topic}`}
      limit ${MOST_OF_OTHERS + 1}) met`,
  )
  return (row?.n ?? 0) > MOST_OF_OTHERS
}

/** The statuses of a filter, and all that live jobs can have. */
function withAllLive(filter: JobFilter): JobFilter['status'] {
  const ended = statusesOf(filter)?.filter(isFinished)
  return ended && [...ended, 'blocked', 'pending', 'processing', 'suspended']
}

/**
 * Cuts a search into windows of time, each twice as long as the one before. Searched in one piece, each topic
 * would be walked until it had a full page by itself, which for a rare value is to its very end, and the search
 * could not be stopped. The caller leaves the loop when it has enough or has run out of time.
 */
async function* windows(
  sql: Sql,
  filter: JobFilter,
  indexed: JobFilter,
  direction: Direction,
  after: ListPosition | undefined,
): AsyncGenerator<Window> {
  const isDown = direction === 'desc'
  const first = await firstPositions(sql, indexed, direction, after, FIRST_WINDOW)
  const end = isDown
    ? (filter.createdFrom?.getTime() ?? 0)
    : (filter.createdTo ?? (await sql.now())).getTime()
  const isBeforeEnd = (moment: number) => (isDown ? moment > end : moment < end)
  let to = first[FIRST_WINDOW - 1]?.created.getTime() ?? end
  let position = after
  let begin = first[0]?.created.getTime() ?? end
  for (;;) {
    const within = isBeforeEnd(to) ? { ...indexed, ...upTo(new Date(to), direction) } : indexed
    const most = MOST_AT_ONCE[sql.dialect]
    const full = (await firstPositions(sql, within, direction, position, most))[most - 1]
    if (full) to = full.created.getTime()
    else if (!isBeforeEnd(to)) break
    yield { after: position, to: new Date(to) }
    position = behind(new Date(to), direction)
    const span = 2 * Math.max(1, Math.abs(to - begin))
    begin = to
    to += isDown ? -span : span
  }
  yield { after: position, to: null }
}

/** The same along an entry of the meta, a fixed number of its jobs at a time. */
async function* windowsAlong(
  sql: Sql,
  entry: MetaEntry,
  { filter, direction }: Pick<Wanted, 'filter' | 'direction'>,
  after: ListPosition | undefined,
  size: number,
): AsyncGenerator<Window> {
  let position = after
  for (;;) {
    const to = await momentOf(sql, entry, filter, direction, position, size)
    yield { after: position, to }
    if (!to) return
    position = behind(to, direction)
  }
}

/** Where the list goes on after everything of this moment. */
function behind(moment: Date, direction: Direction): ListPosition {
  return { created: moment, id: direction === 'desc' ? LOWEST_ID : HIGHEST_ID }
}

/** What the list shows until this moment, and all of it. */
function upTo(moment: Date, direction: Direction): Pick<JobFilter, 'createdFrom' | 'createdTo'> {
  return direction === 'desc' ? { createdFrom: moment } : { createdTo: new Date(moment.getTime() + 1) }
}

/** The first n jobs of a list after a position, for a filter that indexes serve. */
export async function firstPositions(
  sql: Sql,
  filter: JobFilter,
  direction: Direction,
  after: ListPosition | undefined,
  n: number,
): Promise<ListPosition[]> {
  const sources = sourcesOf(sql.dialect, { filter, after, direction, limit: n })
  if (!sources) return []
  const order = raw(`created ${direction}, id ${direction}`)
  const rows = await sql.walk<{ created: unknown; id: string }>(
    q`${withCtes(sources.ctes)} select created, id from (${sources.found}) f order by ${order} limit ${n}`,
  )
  return rows.map(({ created, id }) => ({ created: timeOf(sql, created), id }))
}

/**
 * The time in which there are probably n jobs of the list, if others come as often as those of a page, and the rest of
 * it; null when the page does not tell, or when that is beyond the time of the filter.
 */
export function nearby(
  { createdFrom, createdTo }: JobFilter,
  direction: Direction,
  page: readonly ListPosition[],
  n: number,
): Record<'within' | 'beyond', Pick<JobFilter, 'createdFrom' | 'createdTo'>> | null {
  const [first, last] = [page[0]?.created.getTime(), page.at(-1)?.created.getTime()]
  if (first === undefined || last === undefined) return null
  const edge = last - ((first - last) * 2 * n) / page.length
  if (edge <= (createdFrom?.getTime() ?? 0) || edge >= (createdTo?.getTime() ?? LIMITS.dateMax)) return null
  const [since, until] = [{ createdFrom: new Date(edge) }, { createdTo: new Date(edge) }]
  return direction === 'desc' ? { within: since, beyond: until } : { within: until, beyond: since }
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
  const last = (await firstPositions(sql, others, 'desc', undefined, SAMPLE))[SAMPLE - 1]
  return last && last.created.getTime() >= since ? way : null
}

/** One value of meta, and at most a time range. */
function asksOnlyFor({ meta = {}, createdFrom, createdTo, ...others }: JobFilter): boolean {
  return Object.keys(meta).length === 1 && Object.values(others).every((value) => value === undefined)
}
