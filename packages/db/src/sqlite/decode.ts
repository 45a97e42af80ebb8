import type { Job } from '@oncue/core'
import { type ColumnIn, type Extras, type FieldOf, noExtras, type TypeOf } from '../job-columns.ts'
import type { ClaimedJob } from '../store.ts'

/** As the driver returns it: times are integers, JSON is text. */
type Stored<Name extends ColumnIn<'claim'>> =
  TypeOf<Name> extends 'time' ? number : TypeOf<Name> extends 'json' ? string : Job[FieldOf<Name>]

/** A row of READY. */
export type ReadyRow = { readonly [Name in ColumnIn<'claim'>]: Stored<Name> } & {
  readonly extras: string | null
  readonly status: 'pending' | 'processing'
  readonly concurrency_key: string | null
  readonly concurrency_limit: number | null
}

const NO_EXTRAS = noExtras()

export function claimedJob(row: ReadyRow): ClaimedJob {
  const extras: Extras = row.extras === null ? NO_EXTRAS : JSON.parse(row.extras)
  return {
    ...extras,
    id: row.id,
    run: row.run + 1,
    queue: row.queue,
    topic: row.topic,
    payload: JSON.parse(row.payload),
    priority: row.priority,
    runAt: new Date(row.run_at),
    visibleAt: new Date(row.visible_at),
    created: new Date(row.created),
    retries: row.retries,
    maxRetries: row.max_retries,
    crashes: row.crashes,
    timeoutMs: row.timeout_ms,
  }
}
