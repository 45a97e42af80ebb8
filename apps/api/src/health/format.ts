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

/** `14%`, `6.5%`, as in the app, which shows both. A share above zero is never `0%`, one below 1 never `100%`. */
export function formatPercent(rate: number): string {
  const exact = rate * 100
  if (exact > 0 && exact < 0.1) return '<0.1%'
  if (exact < 100 && exact > 99.9) return '>99.9%'
  if (exact < 10) return `${Math.round(exact * 10) / 10}%`
  return `${exact < 100 ? Math.min(99, Math.round(exact)) : Math.round(exact)}%`
}

/** `1 job`, `1,312 jobs`. */
export function formatCount(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}
