import type { Sql } from '../sql.ts'
import type { JobFilter } from '../store.ts'
import type { Place } from './cursor.ts'
import { narrowPrefix } from './filter.ts'
import { join, q } from './fragment.ts'
import type { MetaEntry } from './meta.ts'
import { sourcesOf } from './sources.ts'
import { timeOf } from './summary.ts'

/** How many jobs the first window holds, about. */
const FIRST_WINDOW = 1_000
const LOWEST_ID = '00000000-0000-0000-0000-000000000000'

/** A stretch of the list, from behind one place down to a moment; null: to the end. */
export type Window = { readonly after: Place | undefined; readonly from: Date | null }

/**
 * No index knows payloads, nor meta together with something else: jobs have to be looked at, one after
 * the other. Those that are looked up by an entry of their meta are few enough, unless their payloads
 * have to be read.
 */
export function isSearch({ meta, payloadText, idPrefix }: JobFilter, by: MetaEntry | undefined): boolean {
  if (by) return !!payloadText
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
  const first = await placeAt(sql, indexed, after, FIRST_WINDOW)
  const oldest = filter.createdFrom?.getTime() ?? 0
  let from = first?.created.getTime() ?? oldest
  let span = Math.max(1, start.getTime() - from)
  let place = after
  while (from > oldest) {
    yield { after: place, from: new Date(from) }
    place = behind(new Date(from))
    span *= 2
    from -= span
  }
  yield { after: place, from: null }
}

/** Where the list goes on after everything of this moment. */
export function behind(moment: Date): Place {
  return { created: moment, id: LOWEST_ID }
}

async function placeAt(
  sql: Sql,
  filter: JobFilter,
  after: Place | undefined,
  n: number,
): Promise<Place | null> {
  const sources = sourcesOf(sql.dialect, { filter, after, direction: 'desc', limit: n })
  if (!sources) return null
  const ctes = sources.ctes.length ? q`with recursive ${join(sources.ctes, ', ')}` : q``
  const [row] = await sql.walk<{ created: unknown; id: string }>(
    q`${ctes} select created, id from (${sources.found}) f order by created desc, id desc limit 1 offset ${n - 1}`,
  )
  return row ? { created: timeOf(sql, row.created), id: row.id } : null
}
