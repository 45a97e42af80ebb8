import { FAILURE_MIN_RUNS, FAILURE_WINDOW_MS, type QueueState, STALL_WINDOW_MS } from '@oncue/core/wire'
import type { QueueOverview } from '@oncue/db'
import type { Ended } from './ended.ts'
import type { Thresholds } from './thresholds.ts'

const MINUTE_MS = 60_000

/** In minutes, the current one included. */
export const THROUGHPUT_MINUTES = 5
export const FAILURE_MINUTES = FAILURE_WINDOW_MS / MINUTE_MS
const STALL_MINUTES = STALL_WINDOW_MS / MINUTE_MS

export interface QueueFacts {
  readonly overview: Pick<QueueOverview, 'waiting' | 'running' | 'oldestWaiting' | 'paused'>
  readonly ended: Ended
  /** Slots of the workers that serve it. */
  readonly capacity: number
  readonly thresholds: Thresholds
  readonly now: Date
}

/** The one word for a queue. That somebody paused it explains all that follows from it. */
export function stateOf({ overview, ended, capacity, thresholds, now }: QueueFacts): QueueState {
  const { waiting, running, oldestWaiting, paused } = overview
  if (paused) return 'paused'
  const waitedMs = now.getTime() - (oldestWaiting ?? now).getTime()
  const isLate = waitedMs > thresholds.oldestWaitingSeconds * 1_000
  // The minute that runs has only just begun, so five whole ones before it.
  const isIdle = ended.last(STALL_MINUTES + 1).ran === 0
  if (waiting > 0 && (capacity === 0 || (isLate && isIdle))) return 'stalled'
  if (isLate) return 'late'
  const { failed, ran } = ended.last(FAILURE_MINUTES)
  if (ran >= FAILURE_MIN_RUNS && failed / ran >= thresholds.failureRate) return 'failing'
  return waiting === 0 && running === 0 && isIdle ? 'idle' : 'ok'
}
