import type { ActivityPoint } from '@oncue/db'

const MINUTE_MS = 60_000

/** How far back the counts go. */
const MINUTES = 60

export function minuteOf(time: Date): Date {
  return new Date(time.getTime() - (time.getTime() % MINUTE_MS))
}

/** The minutes that health covers; the current one is the last. */
export function lastHour(now: Date): { readonly from: Date; readonly to: Date } {
  const minute = minuteOf(now).getTime()
  return { from: new Date(minute - (MINUTES - 1) * MINUTE_MS), to: new Date(minute + MINUTE_MS) }
}

/**
 * What ended in each of the last 60 minutes, the current one last. Cancelled jobs did not run. A failed run counts as a
 * failure although its job is retried: with the default policy the job itself fails 15 min later, which would be too late for
 * an alert.
 */
export class Ended {
  readonly completed = new Array<number>(MINUTES).fill(0)
  /** Failed runs; `lost` are those whose job failed with them. */
  readonly failed = new Array<number>(MINUTES).fill(0)
  readonly lost = new Array<number>(MINUTES).fill(0)

  add({ minute, completed, failed, retried }: ActivityPoint, now: Date): void {
    const at = MINUTES - 1 - (minuteOf(now).getTime() - minute.getTime()) / MINUTE_MS
    if (!(at in this.completed)) return
    this.completed[at] = (this.completed[at] ?? 0) + completed
    this.failed[at] = (this.failed[at] ?? 0) + failed + retried
    this.lost[at] = (this.lost[at] ?? 0) + failed
  }

  /** Failed runs and all runs of the last minutes, as of now or as of some minutes ago. */
  last(minutes: number, ago = 0): { readonly failed: number; readonly ran: number } {
    const failed = sum(within(this.failed, minutes, ago))
    return { failed, ran: failed + sum(within(this.completed, minutes, ago)) }
  }

  /** Finished jobs per minute over the last minutes. The current one counts for the part that has passed. */
  throughput(minutes: number, now: Date, ago = 0): number {
    const ofLast = ago > 0 ? 1 : (now.getTime() % MINUTE_MS) / MINUTE_MS
    const finished = sum(within(this.completed, minutes, ago)) + sum(within(this.lost, minutes, ago))
    return finished / (minutes - 1 + ofLast)
  }

  /** From 0 to 1; null when nothing ran. */
  failureRate(minutes: number, ago = 0): number | null {
    const { failed, ran } = this.last(minutes, ago)
    return ran === 0 ? null : failed / ran
  }
}

/** So many minutes, the last of them so many minutes ago. */
function within(counts: readonly number[], minutes: number, ago: number): readonly number[] {
  const end = counts.length - ago
  return counts.slice(Math.max(0, end - minutes), end)
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
