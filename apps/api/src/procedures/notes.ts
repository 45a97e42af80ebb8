import type { Note } from './procedure.ts'

/** Ids that an audit row names; the count says how many there were. */
const MAX_IDS = 100

export function noteJobs(
  { ids, ...rest }: { readonly ids: readonly string[] } & Readonly<Record<string, unknown>>,
  count: number,
): Note {
  return { target: { ...rest, ids: ids.slice(0, MAX_IDS) }, count }
}
