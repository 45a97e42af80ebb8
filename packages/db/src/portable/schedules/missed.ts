import type { Ticks } from './cron.ts'
import type { Schedule } from './types.ts'

/** A tick that is seen this late was not missed: somebody was busy, or restarted. */
const ON_TIME_MS = 60_000
/** An outage of a month would otherwise become a month of jobs at once. */
const MOST_AT_ONCE = 100
/** Ticks are whole seconds. */
const RESOLUTION_MS = 1_000

/** Which of the ticks from `first` (due, as stored) to `now` become jobs, oldest first. */
export function ticksToRun(ticks: Ticks, first: Date, now: Date, missed: Schedule['missed']): Date[] {
  switch (missed) {
    case 'skip': {
      const from = new Date(now.getTime() - ON_TIME_MS)
      const start = first >= from ? first : ticks.next(new Date(from.getTime() - 1))
      return forward(ticks, start, now, MOST_AT_ONCE)
    }
    case 'one':
      return [latestTick(ticks, first, now)]
    case 'all': {
      const all = forward(ticks, first, now, MOST_AT_ONCE + 1)
      return all.length <= MOST_AT_ONCE ? all : latestTicks(ticks, first, now)
    }
  }
}

function forward(ticks: Ticks, start: Date | null, until: Date, most: number): Date[] {
  const found: Date[] = []
  for (let tick = start; tick && tick <= until && found.length < most; tick = ticks.next(tick))
    found.push(tick)
  return found
}

function latestTicks(ticks: Ticks, first: Date, until: Date): Date[] {
  const found: Date[] = []
  for (let end = until; found.length < MOST_AT_ONCE; ) {
    const tick = latestTick(ticks, first, end)
    found.unshift(tick)
    end = new Date(tick.getTime() - 1)
  }
  return found
}

/**
 * The last tick up to a moment, by halving: a pattern of every second has 2.6 million ticks in a month
 * and this asks for about twenty of them. `first` is one.
 */
export function latestTick(ticks: Ticks, first: Date, until: Date): Date {
  let latest = first
  // There is no tick after `end`, up to `until`.
  let end = until.getTime()
  while (end - latest.getTime() >= RESOLUTION_MS) {
    const middle = Math.floor((latest.getTime() + end) / 2)
    const tick = ticks.next(new Date(middle))
    if (tick && tick <= until) latest = tick
    else end = middle
  }
  return latest
}
