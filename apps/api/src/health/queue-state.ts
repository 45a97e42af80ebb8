import {
  type AlertKind,
  DEFAULT_ALERT_RULES,
  FAILURE_MIN_RUNS,
  FAILURE_WINDOW_MS,
  type QueueState,
  STALL_WINDOW_MS,
} from '@oncue/core/wire'
import type { AlertRuleRow, QueueOverview } from '@oncue/db'
import type { Ended } from './ended.ts'

const MINUTE_MS = 60_000

/** In minutes, the current one included. */
export const THROUGHPUT_MINUTES = 5
export const FAILURE_MINUTES = FAILURE_WINDOW_MS / MINUTE_MS
const STALL_MINUTES = STALL_WINDOW_MS / MINUTE_MS

export interface QueueFacts {
  readonly overview: Pick<QueueOverview, 'waiting' | 'running' | 'oldestWaiting' | 'paused'>
  readonly ended: Ended
  /** Slots of the workers that serve the queue. */
  readonly capacity: number
  readonly thresholds: Thresholds
  readonly now: Date
}

/** The state of a queue in one word. A pause comes first: it explains the rest. */
export function stateOf({ overview, ended, capacity, thresholds, now }: QueueFacts): QueueState {
  const { waiting, running, oldestWaiting, paused } = overview
  if (paused) return 'paused'
  const waitedMs = now.getTime() - (oldestWaiting ?? now).getTime()
  const isLate = waitedMs > thresholds.oldestWaitingSeconds * 1_000
  // The current minute has only begun, so the five full minutes before it count as well.
  const isIdle = ended.last(STALL_MINUTES + 1).ran === 0
  if (waiting > 0 && (capacity === 0 || (isLate && isIdle))) return 'stalled'
  if (isLate) return 'late'
  const { failed, ran } = ended.last(FAILURE_MINUTES)
  if (ran >= FAILURE_MIN_RUNS && failed / ran >= thresholds.failureRate) return 'failing'
  return waiting === 0 && running === 0 && isIdle ? 'idle' : 'ok'
}

type Rule = Pick<AlertRuleRow, 'kind' | 'queue' | 'threshold' | 'enabled'>

/** Above them a queue counts as late or as failing. */
export interface Thresholds {
  readonly oldestWaitingSeconds: number
  readonly failureRate: number
}

/**
 * The strictest enabled rules for this queue, or without one, for all queues; the defaults where there is none. A rule for
 * one queue changes no other.
 */
export function thresholdsOf(rules: readonly Rule[], queue?: string): Thresholds {
  const strictest = (kind: AlertKind & keyof typeof DEFAULT_ALERT_RULES) => {
    const about = rules.filter(
      (rule) => rule.kind === kind && rule.enabled && (rule.queue === null || rule.queue === queue),
    )
    return about.length > 0
      ? Math.min(...about.map(({ threshold }) => threshold))
      : DEFAULT_ALERT_RULES[kind].threshold
  }
  return { oldestWaitingSeconds: strictest('oldest_waiting'), failureRate: strictest('failure_rate') }
}
