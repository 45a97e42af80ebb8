import { type JobId, LIMITS, OncueError } from '@oncue/core'
import { encodeJson } from '@oncue/core/internal'
import type { JobEvent } from '@oncue/core/wire'
import type { RunRef, RunUpdate } from '../../store.ts'

export type { JobEvent }

export type NewEvent = { readonly type: string; readonly data?: unknown }

/**
 * An event of a run, which is written in a batch, later than it happened. `ageMs` says by how much: an age, because
 * the clocks of workers differ from that of the database.
 */
export type RunEvent = NewEvent & { readonly ageMs?: number | undefined }

/**
 * The event stream of a job. The store itself appends only what the job's row cannot show: failed and crashed
 * runs, requeues and cancellations, with who did it. A plain completion writes nothing.
 */
export interface EventStore {
  /** From the first, or after a version. */
  list(jobId: JobId, options?: { afterVersion?: number; limit?: number }): Promise<JobEvent[]>

  /**
   * Appends if the stream is at `expectedVersion`; otherwise VERSION_MISMATCH and nothing is written.
   * Null appends at any version. Returns the new version.
   */
  append(jobId: JobId, expectedVersion: number | null, events: readonly NewEvent[]): Promise<number>

  /**
   * Every event after a version, existing ones and then new ones, until `signal` aborts.
   * Can be resumed from the last version seen. Many watchers share one listener and one query.
   */
  watch(jobId: JobId, options: { afterVersion?: number; signal: AbortSignal }): AsyncIterable<JobEvent>
}

const TYPE = /^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$/

/** The result of a step, and its name, whose characters may take six bytes each. */
const STEP_BYTES = LIMITS.payloadBytes + 6 * LIMITS.stepNameLength + 64

export type EncodedEvent = { readonly type: string; readonly data: string | null }

/** The event as it is stored; throws if it is invalid. */
export function encodeEvents(events: readonly NewEvent[]): EncodedEvent[] {
  if (events.length > LIMITS.events) {
    const message = `${events.length} events in one append; at most ${LIMITS.events} are allowed`
    throw new OncueError('BATCH_TOO_LARGE', message)
  }
  return events.map(({ type, data }) => {
    if (typeof type !== 'string' || type.length > LIMITS.eventTypeLength || !TYPE.test(type)) {
      const got = JSON.stringify(type)?.slice(0, 100)
      const rule = `1 to ${LIMITS.eventTypeLength} letters, digits and _ . : - /`
      throw new OncueError('INVALID_INPUT', `event.type must be ${rule}, got ${got}`)
    }
    const maxBytes = type === 'step_finished' ? STEP_BYTES : LIMITS.eventBytes
    return { type, data: data === undefined ? null : encodeJson(data, 'event', maxBytes) }
  })
}

/** Versions are whole numbers; 0 is the version of an empty stream. */
export function assertVersion(value: number, what: string): void {
  if (Number.isSafeInteger(value) && value >= 0 && value <= MAX_VERSION) return
  const message = `${what} must be a whole number from 0 to ${MAX_VERSION}, got ${value}`
  throw new OncueError('INVALID_INPUT', message)
}

/** A Postgres integer. */
const MAX_VERSION = 2_147_483_647

const MAX_LIST = 1_000

/** How many events a list may have: as many as one page. */
export function listLimit(limit: number = MAX_LIST): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIST) return limit
  throw new OncueError('INVALID_INPUT', `limit must be a whole number from 1 to ${MAX_LIST}, got ${limit}`)
}

/** An update as it is stored. Everything in it is JSON text. */
export type EncodedUpdate = RunRef & {
  readonly progress: string | null
  readonly cursor: string | null
  readonly events: readonly (readonly [type: string, data: string | null, ageMs: number])[]
}

/**
 * One update per run, however many there are: a row that is updated twice in a statement keeps one update. Sorted
 * by id, so that concurrent updates of the same runs lock them in one order.
 */
export function encodeUpdates(updates: readonly RunUpdate[]): EncodedUpdate[] {
  const byRun = new Map<string, EncodedUpdate>()
  for (const { id, run, progress, cursor, events = [] } of updates) {
    const key = `${id} ${run}`
    const before = byRun.get(key)
    const encoded = encodeEvents(events).map(
      ({ type, data }, n) => [type, data, Math.max(0, Math.round(events[n]?.ageMs ?? 0))] as const,
    )
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
