import type { JobId, OperationAction } from '@oncue/core'
import type { Place } from './reads/cursor.ts'
import type { ActionReport, JobFilter } from './store.ts'

/** What somebody wants done to all that a filter matched at a moment. */
export type OperationRequest = {
  readonly action: OperationAction
  readonly filter: JobFilter
  readonly asOf: Date
  /** Over how long it is to be spread; 0: as fast as is good for the others. */
  readonly spreadMs: number
  /** The same key of the same actor again is the same operation. */
  readonly idempotencyKey: string
  readonly actor: { readonly id: string; readonly name: string; readonly kind: string }
}

export type NewOperation = OperationRequest & MatchCount

export type OperationStatus = 'running' | 'completed' | 'stopped' | 'failed'

export type OperationRow = Omit<OperationRequest, 'idempotencyKey'> &
  ActionReport & {
    readonly id: string
    readonly status: OperationStatus
    readonly total: number
    readonly totalIsExact: boolean
    /** Why it failed. */
    readonly error: OperationError | null
    readonly stoppedBy: string | null
    readonly created: Date
    readonly updated: Date
    readonly finishedAt: Date | null
    /** How many batches it took. Whoever does the next one must have seen this one. */
    readonly step: number
    /** Null: at the beginning. */
    readonly position: OperationPosition | null
  }

export type OperationPosition = {
  /** The last job that the walk has passed; null: it has passed all of them. */
  readonly next: Place | null
  /** Jobs of the last batch that were being claimed or settled, and how often they were tried. */
  readonly busy: readonly JobId[]
  readonly tries: number
}

/** Under this and its id a process leads an operation (`Store.lead`). */
export const OPERATION_LEAD = 'operation:'

export type OperationError = { readonly code: string; readonly message: string }

export type MatchCount = {
  readonly total: number
  /** False: there are at least so many. */
  readonly totalIsExact: boolean
}

export type OperationPreview = MatchCount & {
  /** Of those looked at: the newest that were counted. */
  readonly byStatus: Record<string, number>
  /** The most frequent first. */
  readonly byError: { readonly class: string; readonly message: string; readonly count: number }[]
  readonly sample: {
    readonly id: JobId
    readonly topic: string
    readonly queue: string
    readonly status: string
  }[]
}

/** Bulk operations, as people begin, list and stop them. */
export interface OperationControl {
  /** What this key began; INVALID_INPUT if that was something else. Null: nothing yet. */
  begun(request: OperationRequest): Promise<OperationRow | null>
  /** Of several with the same key, the first is kept and returned to all. INVALID_INPUT if it was something else. */
  create(operation: NewOperation, id?: string): Promise<OperationRow>
  get(id: string): Promise<OperationRow | null>
  /** Ids that do not exist are left out. */
  find(ids: readonly string[]): Promise<Map<string, OperationRow>>
  list(
    filter?: { readonly status?: OperationStatus | undefined },
    page?: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  ): Promise<OperationPage>
  /** The ids of those that have not ended, up to 1,000. */
  running(): Promise<string[]>
  /** What was done stays done. One that has ended stays as it is; OPERATION_NOT_FOUND for an id that does not exist. */
  stop(id: string, by: string): Promise<OperationRow>
  /** Removes what ended before, the oldest first, one batch per call; returns how many. */
  prune(rule: { readonly before: Date; readonly limit?: number | undefined }): Promise<number>
}

/**
 * The steps of a bulk operation: bounded batches, which another process can continue. A batch, its counts and the audit
 * entry of its end are one transaction: nothing is done or counted twice.
 */
export interface OperationStore {
  /**
   * How many jobs matched at that moment: exactly up to 100,000, at least that many above; `all` counts on as long as
   * a caller can be made to wait. INVALID_INPUT for a search that takes too long.
   */
  count(filter: JobFilter, asOf: Date, howMany?: 'enough' | 'all'): Promise<MatchCount>
  /** The same, and what they are. */
  preview(filter: JobFilter, asOf: Date): Promise<OperationPreview>
  /**
   * Does the next batch, of up to `limit` jobs and never more than 500, if it is still running and has not changed since
   * it was read. Null: it was stopped, or another process did that batch. Its end is written into the audit, under the
   * actor that began it.
   */
  advance(seen: OperationRow, limit?: number): Promise<OperationRow | null>
  /** It cannot continue. Null: it has ended, or has changed since it was read. */
  fail(seen: OperationRow, error: OperationError): Promise<OperationRow | null>
}

export type OperationPage = {
  /** Newest first. */
  readonly items: OperationRow[]
  /** Null: this is the last page. */
  readonly nextCursor: string | null
}
