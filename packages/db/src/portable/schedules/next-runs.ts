import { isOncueError } from '@oncue/core'
import { parseCron } from './cron.ts'
import type { ScheduleRow } from './types.ts'

const MANY = 3

/** What is planned, which may be due by now, and the ticks after that are still to come. Of a paused schedule none. */
export function nextRuns(
  { cron, timezone, nextAt }: Pick<ScheduleRow, 'cron' | 'timezone' | 'nextAt'>,
  now: Date,
): Date[] {
  if (!nextAt) return []
  const runs = [nextAt]
  let last = nextAt > now ? nextAt : now
  try {
    const ticks = parseCron(cron, timezone)
    while (runs.length < MANY) {
      const tick = ticks.next(last)
      if (!tick) break
      runs.push(tick)
      last = tick
    }
  } catch (error) {
    // Somebody broke it by hand: the others can be listed still.
    if (!isOncueError(error, 'INVALID_CRON')) throw error
  }
  return runs
}
