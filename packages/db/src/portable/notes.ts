import type { RunNote, RunRef } from '../store.ts'
import { encodeEvents } from './events/check.ts'

/** What is written of a note. Everything in it is JSON text. */
export type EncodedNote = RunRef & {
  readonly progress: string | null
  readonly cursor: string | null
  readonly events: readonly (readonly [type: string, data: string | null])[]
}

/**
 * One for each run, however many notes there are of it: a row that is updated twice keeps one update. By
 * id, so that two who note of the same runs wait for each other in one order.
 */
export function encodeNotes(notes: readonly RunNote[]): EncodedNote[] {
  const byRun = new Map<string, EncodedNote>()
  for (const { id, run, progress, cursor, events = [] } of notes) {
    const key = `${id} ${run}`
    const before = byRun.get(key)
    const encoded = encodeEvents(events).map(({ type, data }) => [type, data] as const)
    byRun.set(key, {
      id,
      run,
      progress: progress ?? before?.progress ?? null,
      cursor: cursor ?? before?.cursor ?? null,
      events: [...(before?.events ?? []), ...encoded],
    })
  }
  return [...byRun.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}
