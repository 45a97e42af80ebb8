import type { JobId } from '@oncue/core'
import type {
  AuditEntry,
  FoundJobs,
  JobFilter,
  Operation,
  OperationStatus,
  Page,
  PageRequest,
  OperationRequest as WireRequest,
} from '@oncue/core/wire'
import type { Place } from '../reads/cursor.ts'

export type { OperationStatus }
export type OperationError = NonNullable<Operation['error']>

/** What is to be done to all jobs that a filter matched at a moment. */
export type OperationRequest = Omit<WireRequest, 'expectedCount' | 'spreadSeconds'> & {
  /** Over how long it is to be spread; 0: as fast as is good for the others. */
  readonly spreadMs: number
  /** Repeating `idempotencyKey` as the same actor returns the same operation. */
  readonly actor: AuditEntry['actor']
}

export type MatchCount = Pick<Operation, 'total' | 'totalIsExact'>
export type NewOperation = OperationRequest & MatchCount
export type OperationPreview = MatchCount & FoundJobs
/** Newest first. */
export type OperationPage = Page<OperationRow>

export type OperationRow = Omit<Operation, 'filter' | 'spreadSeconds' | 'by'> &
  Omit<OperationRequest, 'idempotencyKey'> & {
    /** How many batches it took. The process that does the next one must have seen this one. */
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
    page?: Pick<PageRequest, 'limit' | 'cursor'>,
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
