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

  /** Failed runs and all runs of the last minutes. */
  last(minutes: number): { readonly failed: number; readonly ran: number } {
    const failed = sum(this.failed.slice(-minutes))
    return { failed, ran: failed + sum(this.completed.slice(-minutes)) }
  }

  /** Finished jobs per minute over the last minutes. The current one counts for the part that has passed. */
  throughput(minutes: number, now: Date): number {
    const ofThisMinute = (now.getTime() % MINUTE_MS) / MINUTE_MS
    const finished = sum(this.completed.slice(-minutes)) + sum(this.lost.slice(-minutes))
    return finished / (minutes - 1 + ofThisMinute)
  }

  /** From 0 to 1; null when nothing ran. */
  failureRate(minutes: number): number | null {
    const { failed, ran } = this.last(minutes)
    return ran === 0 ? null : failed / ran
  }
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
