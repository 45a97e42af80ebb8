import type { AlertKind } from './wire-alerts.ts'

/** Over how long the share of failures is counted, and how many runs it takes to tell. */
export const FAILURE_WINDOW_MS = 15 * 60_000
export const FAILURE_MIN_RUNS = 20

/** Jobs wait, and none was done for this long: stalled. */
export const STALL_WINDOW_MS = 5 * 60_000

/** The rules that every installation begins with; thresholds in the units of their kinds. */
export const DEFAULT_ALERT_RULES = {
  oldest_waiting: { name: 'Jobs wait too long', threshold: 300, forSeconds: 60 },
  failure_rate: { name: 'Too many jobs fail', threshold: 0.1, forSeconds: 120 },
  no_workers: { name: 'No workers are alive', threshold: 0, forSeconds: 60 },
  // As long as a run may take by default: whoever waits for one that is merely long is not told.
  stalled: { name: 'Jobs wait and none is done', threshold: 1, forSeconds: 300 },
  paused: { name: 'A queue is paused for long', threshold: 3_600, forSeconds: 0 },
} as const satisfies Readonly<
  Record<AlertKind, { readonly name: string; readonly threshold: number; readonly forSeconds: number }>
>
