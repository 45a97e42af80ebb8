import type { Runtime } from '@oncue/runtime'
import type { JobFilter } from '../../store.ts'
import type { Sql } from '../sql.ts'
import type { ByMeta } from './by-meta.ts'
import type { Place } from './cursor.ts'
import { behind, isSearch, type Window, windows, windowsAlong } from './windows.ts'

/** What a list asks for, and how it is found. */
export type Wanted = {
  readonly filter: JobFilter
  readonly way: ByMeta | null
  /** Of a search. Null: indexes answer it in one go. */
  readonly windowsFrom: ((start: Place | undefined) => AsyncGenerator<Window>) | null
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
 * Window by window while `look` wants more, until the end or until the next one would take too long, which may be
 * twice as large, or as cold: then there is a rest.
 */
export async function search(
  windows: AsyncGenerator<Window>,
  filter: JobFilter,
  searchMs: number,
  look: (part: { readonly filter: JobFilter; readonly after: Place | undefined }) => Promise<boolean>,
  runtime: Runtime,
): Promise<Place | null> {
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
