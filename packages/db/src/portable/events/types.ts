import type { JobId } from '@oncue/core'
import type { JobEvent } from '@oncue/core/wire'

export type { JobEvent }

export type NewEvent = { readonly type: string; readonly data?: unknown }

/**
 * The event stream of a job. Plain jobs write only what their row cannot tell: failed and crashed
 * runs, requeues and cancellations, with who did it. A plain completion writes nothing.
 */
export interface EventStore {
  /** From the first, or after a version. */
  list(jobId: JobId, options?: { afterVersion?: number; limit?: number }): Promise<JobEvent[]>

  /**
   * Appends if the stream is at `expectedVersion`; otherwise VERSION_MISMATCH and nothing is written.
   * Null appends wherever the stream is. Answers the new version.
   */
  append(jobId: JobId, expectedVersion: number | null, events: readonly NewEvent[]): Promise<number>

  /**
   * Every event after a version, those that are there and those that come, until `signal` aborts.
   * Can be resumed from the last version seen. Many watchers share one listener and one query.
   */
  watch(jobId: JobId, options: { afterVersion?: number; signal: AbortSignal }): AsyncIterable<JobEvent>
}
