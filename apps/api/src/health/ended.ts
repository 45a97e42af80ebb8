import type { ActivityPoint } from '@oncue/db'

const MINUTE_MS = 60_000

/** How far back it is looked. */
const MINUTES = 60

export function minuteOf(time: Date): Date {
  return new Date(time.getTime() - (time.getTime() % MINUTE_MS))
}

/** The minutes that health is about: the running one is the last. */
export function lastHour(now: Date): { readonly from: Date; readonly to: Date } {
  const minute = minuteOf(now).getTime()
  return { from: new Date(minute - (MINUTES - 1) * MINUTE_MS), to: new Date(minute + MINUTE_MS) }
}

/**
 * What came to an end in each of the last sixty minutes, the one that runs now last. What was cancelled did not run. A
 * run that fails is a failure although its job is retried: with the default policy the job itself fails a quarter of
 * an hour later, and until then nobody would be told.
 */
export class Ended {
  readonly completed = new Array<number>(MINUTES).fill(0)
  /** Runs; of those in `lost` the job failed with them. */
  readonly failed = new Array<number>(MINUTES).fill(0)
  readonly lost = new Array<number>(MINUTES).fill(0)

  add({ minute, completed, failed, retried }: ActivityPoint, now: Date): void {
    const at = MINUTES - 1 - (minuteOf(now).getTime() - minute.getTime()) / MINUTE_MS
    if (!(at in this.completed)) return
    this.completed[at] = (this.completed[at] ?? 0) + completed
    this.failed[at] = (this.failed[at] ?? 0) + failed + retried
    this.lost[at] = (this.lost[at] ?? 0) + failed
  }

  /** How many failed, and how many ran, in the last so many minutes. */
  last(minutes: number): { readonly failed: number; readonly ran: number } {
    const failed = sum(this.failed.slice(-minutes))
    return { failed, ran: failed + sum(this.completed.slice(-minutes)) }
  }

  /** A minute, over the last so many. The running one counts for as long as it runs. */
  throughput(minutes: number, now: Date): number {
    const ofThisMinute = (now.getTime() % MINUTE_MS) / MINUTE_MS
    const finished = sum(this.completed.slice(-minutes)) + sum(this.lost.slice(-minutes))
    return finished / (minutes - 1 + ofThisMinute)
  }

  /** 0 to 1; null when nothing ran. */
  failureRate(minutes: number): number | null {
    const { failed, ran } = this.last(minutes)
    return ran === 0 ? null : failed / ran
  }
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
