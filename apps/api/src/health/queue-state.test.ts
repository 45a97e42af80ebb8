import { DEFAULT_ALERT_RULES, FAILURE_MIN_RUNS, type QueueState } from '@oncue/core/wire'
import { describe, expect, it } from 'vitest'
import { Ended, minuteOf } from './ended.ts'
import { stateOf, thresholdsOf } from './queue-state.ts'

const NOW = new Date('2026-01-01T12:00:30Z')
const SECOND = 1_000
const MINUTE = 60 * SECOND
const thresholds = { oldestWaitingSeconds: 300, failureRate: 0.1 }

interface Case {
  readonly waiting?: number
  readonly running?: number
  readonly waitedMs?: number
  readonly capacity?: number
  readonly isPaused?: boolean
  /** Jobs that ended, by how many minutes ago. */
  readonly ended?: Readonly<
    Record<number, { completed?: number; failed?: number; cancelled?: number; retried?: number }>
  >
}

function stateIn({ waiting = 0, running = 0, waitedMs, capacity = 10, isPaused, ended = {} }: Case) {
  const counts = new Ended()
  for (const [ago, { completed = 0, failed = 0, cancelled = 0, retried = 0 }] of Object.entries(ended)) {
    const minute = new Date(minuteOf(NOW).getTime() - Number(ago) * MINUTE)
    counts.add({ queue: 'mail', minute, completed, failed, cancelled, retried }, NOW)
  }
  const oldestWaiting = waitedMs === undefined ? null : new Date(NOW.getTime() - waitedMs)
  const paused = isPaused ? { at: NOW, by: null, until: null } : null
  const overview = { waiting, running, oldestWaiting, paused }
  return stateOf({ overview, ended: counts, capacity, thresholds, now: NOW })
}

const LATE = { waiting: 1, waitedMs: 301 * SECOND }
const enough = { completed: FAILURE_MIN_RUNS - 2, failed: 2 }

const CASES: [what: string, given: Case, state: QueueState][] = [
  ['nothing to do', {}, 'idle'],
  ['nothing to do, and no worker', { capacity: 0 }, 'idle'],
  ['nothing to do for a while', { ended: { 6: { completed: 1 } } }, 'idle'],
  ['something was done just now', { ended: { 5: { completed: 1 } } }, 'ok'],
  ['something runs', { running: 1 }, 'ok'],
  ['something waits', { waiting: 1, waitedMs: 10 * SECOND }, 'ok'],
  ['something waits as long as it may', { waiting: 1, waitedMs: 300 * SECOND }, 'ok'],
  ['something waits, and there is no worker', { waiting: 1, waitedMs: 0, capacity: 0 }, 'stalled'],
  ['something waits for long, while others are done', { ...LATE, ended: { 1: { completed: 1 } } }, 'late'],
  ['something waits for long, while all others fail', { ...LATE, ended: { 1: { failed: 50 } } }, 'late'],
  ['something waits for long, and nothing is done', LATE, 'stalled'],
  ['something waits for long, while a run takes long', { ...LATE, running: 10 }, 'stalled'],
  ['the last one was done five minutes ago', { ...LATE, ended: { 5: { completed: 1 } } }, 'late'],
  ['the last one was done before that', { ...LATE, ended: { 6: { completed: 1 } } }, 'stalled'],
  ['others were merely cancelled', { ...LATE, ended: { 0: { cancelled: 9 } } }, 'stalled'],
  ['it is paused', { ...LATE, isPaused: true, capacity: 0 }, 'paused'],
  ['it is paused because all fail', { isPaused: true, ended: { 1: { failed: 50 } } }, 'paused'],
  ['too many fail', { ended: { 14: enough } }, 'failing'],
  ['all runs fail, and their jobs are retried', { ended: { 1: { retried: FAILURE_MIN_RUNS } } }, 'failing'],
  ['too many failed a while ago', { ended: { 15: enough } }, 'idle'],
  ['one fewer fails', { ended: { 1: { completed: FAILURE_MIN_RUNS - 1, failed: 1 } } }, 'ok'],
  ['all fail, but there are few', { ended: { 1: { failed: FAILURE_MIN_RUNS - 1 } } }, 'ok'],
]

describe('the state of a queue', () => {
  it.each(CASES)('%s', (_, given, state) => {
    expect(stateIn(given)).toBe(state)
  })
})

const late = (threshold: number, queue: string | null = null, enabled = true) =>
  ({ kind: 'oldest_waiting', threshold, queue, enabled }) as const

describe('thresholds', () => {
  it('are the defaults without rules', () => {
    expect(thresholdsOf([])).toEqual({
      oldestWaitingSeconds: DEFAULT_ALERT_RULES.oldest_waiting.threshold,
      failureRate: DEFAULT_ALERT_RULES.failure_rate.threshold,
    })
  })

  it('are those of the strictest enabled rule', () => {
    const rules = [late(120), late(60), late(1, null, false)]
    expect(thresholdsOf(rules).oldestWaitingSeconds).toBe(60)
    expect(thresholdsOf(rules).failureRate).toBe(DEFAULT_ALERT_RULES.failure_rate.threshold)
    expect(thresholdsOf([late(900)]).oldestWaitingSeconds).toBe(900)
  })

  it('of a queue do not come from the rule of another', () => {
    const rules = [late(120), late(30, 'payments')]
    expect(thresholdsOf(rules, 'payments').oldestWaitingSeconds).toBe(30)
    expect(thresholdsOf(rules, 'mail').oldestWaitingSeconds).toBe(120)
    // A rule of one queue does not change the general thresholds either.
    expect(thresholdsOf(rules).oldestWaitingSeconds).toBe(120)
  })
})
