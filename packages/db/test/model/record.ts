import type { JobId } from '@oncue/core'
import type { RunRef, Settlement } from '../../src/store.ts'

/** What the actors of one process were told. It crosses a process boundary, so it is plain data. */
export type Record = {
  /** Ids that an enqueue returned. */
  readonly enqueued: JobId[]
  readonly claims: Claim[]
  readonly beats: Beat[]
  /** Settlements that were not reported stale. */
  readonly settled: (RunRef & { readonly kind: Settlement['kind'] })[]
  /** How many jobs were reported deleted or pruned. */
  removed: number
  /** How often each call was made. */
  readonly calls: { [call: string]: number }
  /** Errors that the call must not return, whatever the other actors do. */
  readonly surprises: string[]
}

/** Times are milliseconds of the database's clock. */
export type Claim = RunRef & { readonly at: number; readonly until: number }

/** A heartbeat that did not report the run lost. Its lease ends no earlier than `until`. */
type Beat = RunRef & { readonly answeredAt: number; readonly until: number }

export function emptyRecord(): Record {
  return { enqueued: [], claims: [], beats: [], settled: [], removed: 0, calls: {}, surprises: [] }
}

export function merged(records: readonly Record[]): Record {
  const calls: { [call: string]: number } = {}
  for (const record of records) {
    for (const [call, times] of Object.entries(record.calls)) calls[call] = (calls[call] ?? 0) + times
  }
  return {
    enqueued: records.flatMap((record) => record.enqueued),
    claims: records.flatMap((record) => record.claims),
    beats: records.flatMap((record) => record.beats),
    settled: records.flatMap((record) => record.settled),
    removed: records.reduce((sum, record) => sum + record.removed, 0),
    calls,
    surprises: records.flatMap((record) => record.surprises),
  }
}
