import { day, timeOfDay } from '../../lib/format.ts'

/** A non-breaking space. */
const FIXED = '\u00a0'

/** "03:00, then 04:00, 05:00", of this device's time zone; the day where it is not that of the one before. */
export function runsInWords(runs: readonly Date[], now: number): string {
  const [first, ...rest] = runs.map((run, index) => momentOf(run, runs[index - 1] ?? new Date(now)))
  return rest.length === 0 ? (first ?? '') : `${first}, ${thenInWords(runs)}`
}

/** "then 04:00, 05:00": all but the first. */
export function thenInWords(runs: readonly Date[]): string {
  const rest = runs.slice(1).map((run, index) => momentOf(run, runs[index] ?? run))
  return rest.length === 0 ? '' : `then ${rest.join(', ')}`
}

function momentOf(run: Date, before: Date): string {
  const seconds = run.getSeconds()
  const time = timeOfDay(run) + (seconds === 0 ? '' : `:${String(seconds).padStart(2, '0')}`)
  return run.toDateString() === before.toDateString() ? time : `${day(run)} ${time}`.replaceAll(' ', FIXED)
}
