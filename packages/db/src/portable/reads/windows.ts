import type { JobFilter } from '../../store.ts'
import { q, type Sql, timeOf, withCtes } from '../sql.ts'
import type { Place } from './cursor.ts'
import { narrowPrefix } from './filter.ts'
import { type MetaEntry, momentOf } from './meta.ts'
import { sourcesOf } from './sources.ts'

/** How many jobs the first window holds, about. */
const FIRST_WINDOW = 200
/**
 * How many jobs a window holds at most, and the others of its last millisecond. A SQLite file is read in this
 * process, which does nothing else during a statement.
 */
export const MOST_AT_ONCE = { postgres: null, sqlite: 500 }
const LOWEST_ID = '00000000-0000-0000-0000-000000000000'

/** A stretch of the list, from behind one place down to a moment; null: to the end. */
export type Window = { readonly after: Place | undefined; readonly from: Date | null }

/** No index knows payloads, short prefixes, or meta together with something else: jobs have to be looked at, one by one. */
export function isSearch({ meta, payloadText, idPrefix }: JobFilter): boolean {
  return Object.keys(meta ?? {}).length > 0 || !!payloadText || (!!idPrefix && !narrowPrefix(idPrefix))
}

/**
 * Cuts a search into stretches of time, each twice as long as the one before. Looked through in one
 * piece, each topic would be walked until it had a full page by itself, which for a rare value is to
 * its very end; and nobody could stop it. Whoever has enough, or has waited enough, leaves the loop.
 */
export async function* windows(
  sql: Sql,
  filter: JobFilter,
  after: Place | undefined,
): AsyncGenerator<Window> {
  const { meta, payloadText, idPrefix, ...indexed } = filter
  const start = after?.created ?? filter.createdTo ?? (await sql.now())
  const last = (await firstPlaces(sql, indexed, after, FIRST_WINDOW))[FIRST_WINDOW - 1]
  const oldest = filter.createdFrom?.getTime() ?? 0
  let from = last?.created.getTime() ?? oldest
  let place = after
  for (let top = start.getTime(); ; ) {
    const within = from > oldest ? { ...indexed, createdFrom: new Date(from) } : indexed
    const most = MOST_AT_ONCE[sql.dialect]
    const full = most && (await firstPlaces(sql, within, place, most))[most - 1]
    if (full) from = full.created.getTime()
    else if (from <= oldest) break
    yield { after: place, from: new Date(from) }
    place = behind(new Date(from))
    const span = 2 * Math.max(1, top - from)
    top = from
    from -= span
  }
  yield { after: place, from: null }
}

/** The same along an entry of the meta: so many of those that have it at a time. */
export async function* windowsAlong(
  sql: Sql,
  entry: MetaEntry,
  filter: JobFilter,
  after: Place | undefined,
  size: number,
): AsyncGenerator<Window> {
  let place = after
  for (;;) {
    const from = await momentOf(sql, entry, filter, place, size)
    yield { after: place, from }
    if (!from) return
    place = behind(from)
  }
}

/** Where the list goes on after everything of this moment. */
export function behind(moment: Date): Place {
  return { created: moment, id: LOWEST_ID }
}

/** The first n jobs of a list behind a place, for a filter that indexes answer. */
export async function firstPlaces(
  sql: Sql,
  filter: JobFilter,
  after: Place | undefined,
  n: number,
): Promise<Place[]> {
  const sources = sourcesOf(sql.dialect, { filter, after, direction: 'desc', limit: n })
  if (!sources) return []
  const rows = await sql.walk<{ created: unknown; id: string }>(
    q`${withCtes(sources.ctes)} select created, id from (${sources.found}) f order by created desc, id desc limit ${n}`,
  )
  return rows.map(({ created, id }) => ({ created: timeOf(sql, created), id }))
}

/**
 * Since when there are probably n jobs, if others come as often as those of a page; null when the page does not
 * tell, or when that is before the time of the filter.
 */
export function sinceWhen({ createdFrom }: JobFilter, page: readonly Place[], n: number): Date | null {
  const [first, last] = [page[0]?.created.getTime(), page.at(-1)?.created.getTime()]
  if (first === undefined || last === undefined) return null
  const since = last - ((first - last) * 2 * n) / page.length
  return since > (createdFrom?.getTime() ?? 0) ? new Date(since) : null
}
