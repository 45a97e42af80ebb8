import type { NewJob } from '@oncue/core'

/**
 * A client's clock may be behind the store's by this much. A wake-up that comes too early costs one
 * claim, which then knows when to look again; one that never comes costs the rest of a poll.
 */
const SKEW_MS = 1_000

/** The queues in which these jobs can be claimed now: those that are delayed or blocked wake nobody. */
export function dueQueues(jobs: readonly NewJob[], nowMs: number): string[] {
  const queues = new Set<string>()
  for (const { queue, after, runAt, delayMs } of jobs) {
    const waitMs = runAt ? runAt.getTime() - nowMs : delayMs
    if (after.length === 0 && waitMs <= (runAt ? SKEW_MS : 0)) queues.add(queue)
  }
  return [...queues]
}
