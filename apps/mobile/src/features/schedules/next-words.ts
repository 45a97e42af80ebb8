import { clock, clockSeconds, day, FIXED, isSameDay } from '../../lib/format.ts'
import { zoneOf } from '../../lib/time-zone.ts'

/** "03:00, then 04:00, 05:00 UTC+1"; the day where it is not that of the one before. */
export function runsInWords(runs: readonly Date[], now: number): string {
  const [first, ...rest] = momentsOf(runs, new Date(now))
  return rest.length === 0 ? (first ?? '') : `${first}, then${FIXED}${rest.join(', ')}`
}

/** "then 04:00, 05:00 UTC+1": all but the first. */
export function thenInWords(runs: readonly Date[]): string {
  const [first = new Date(), ...rest] = runs
  return rest.length === 0 ? '' : `then${FIXED}${momentsOf(rest, first).join(', ')}`
}

/** The zone once, at the end, unless summer time begins or ends in between. */
function momentsOf(runs: readonly Date[], before: Date): string[] {
  return runs.map((run, index) => {
    const next = runs[index + 1]
    const isLastOfZone = next === undefined || zoneOf(next) !== zoneOf(run)
    const words = [
      !isSameDay(run, runs[index - 1] ?? before) && day(run),
      run.getSeconds() === 0 ? clock(run) : clockSeconds(run),
      isLastOfZone && zoneOf(run),
    ]
    return words.filter(Boolean).join(' ').replaceAll(' ', FIXED)
  })
}
