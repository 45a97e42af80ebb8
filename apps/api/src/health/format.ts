const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** One unit is enough to judge by: `45 s`, `12 min`, `47 h`, `3 d`. */
export function formatDuration(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.max(0, Math.trunc(ms / SECOND_MS))} s`
  if (ms < HOUR_MS) return `${Math.trunc(ms / MINUTE_MS)} min`
  if (ms < 2 * DAY_MS) return `${Math.trunc(ms / HOUR_MS)} h`
  return `${Math.trunc(ms / DAY_MS)} d`
}

/** `14%`. A share above zero is never `0%`. */
export function formatPercent(rate: number): string {
  return rate > 0 && rate < 0.01 ? '<1%' : `${Math.round(rate * 100)}%`
}

/** `1 job`, `1,312 jobs`. */
export function formatCount(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}
