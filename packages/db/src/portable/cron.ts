import { isOncueError, OncueError } from '@oncue/core'
import { Cron } from 'croner'
import type { Schedule, ScheduleRow } from './schedules.ts'

/** Far beyond real patterns, far below what a list of a million minutes takes to read. */
const MAX_LENGTH = 256

/** The ticks of a pattern in a time zone. */
export interface Ticks {
  /** The first tick after a moment; null when there is none. */
  next(after: Date): Date | null
}

/**
 * Parses a pattern of five fields, of six with seconds, or a nickname such as `@daily`.
 *
 * At a change of daylight saving time, a fixed time that is skipped ticks once, at the change; a fixed time that
 * comes twice ticks the first time only; repeating patterns (`*`, steps, lists of hours) follow the local clock.
 */
export function parseCron(cron: string, timezone: string): Ticks {
  assertShape(cron)
  const zone = canonicalZone(timezone)
  try {
    const pattern = new Cron(cron, { timezone: zone, mode: '5-or-6-parts' })
    return { next: (after) => pattern.nextRun(after) }
  } catch (cause) {
    const reason = wrongField(cron) ?? (cause instanceof Error ? cause.message : String(cause))
    throw new OncueError('INVALID_CRON', `cron ${JSON.stringify(cron)} is invalid: ${reason}`, { cause })
  }
}

const FIELDS = [
  ['second', '0-59'],
  ['minute', '0-59'],
  ['hour', '0-23'],
  ['day of month', '1-31'],
  ['month', '1-12 or JAN-DEC'],
  ['day of week', '0-7 or SUN-SAT'],
] as const

/** The first field that is wrong by itself. Croner names some by their index and counts days from 0. */
function wrongField(cron: string): string | null {
  if (cron.startsWith('@')) return `there is no nickname ${cron}; use one such as @daily`
  const given = cron.split(/ +/)
  const fields = FIELDS.slice(-given.length)
  for (const [n, [name, range]] of fields.entries()) {
    const alone = fields.map((_, other) => (other === n ? given[n] : '*')).join(' ')
    try {
      new Cron(alone, { mode: '5-or-6-parts' })
    } catch {
      return `${name} ${JSON.stringify(given[n])} must be ${range}, *, a list (1,2), a range (1-2) or a step (*/2)`
    }
  }
  return null
}

/** The next ticks of a pattern that is not saved yet. One that never ticks is refused, as when it is saved. */
export function previewRuns(cron: string, timezone: string, after: Date, count: number): Date[] {
  const ticks = parseCron(cron, timezone)
  const runs = [firstTick(cron, timezone, after)]
  while (runs.length < count) {
    const tick = ticks.next(runs.at(-1) ?? after)
    if (!tick) break
    runs.push(tick)
  }
  return runs
}

/** Its first tick after a moment. A pattern that never ticks, such as the 31st of February, is a mistake. */
export function firstTick(cron: string, timezone: string, after: Date): Date {
  const ticks = parseCron(cron, timezone)
  const tick = cron.startsWith('@') ? ticks.next(after) : searchByYear(cron, timezone, after)
  if (tick) return tick
  throw new OncueError('INVALID_CRON', `cron ${JSON.stringify(cron)} never ticks`)
}

const DAY_MS = 86_400_000
/** A fixed day falls on a change of daylight saving time now and then, but not in two years running. */
const MOST_YEARS = 2

/**
 * A pattern of every second of an hour that is always skipped by daylight saving time has no tick, and Croner would
 * try each of these seconds for centuries. UTC skips nothing, so the years that have a tick there are tried one by one.
 */
function searchByYear(cron: string, timezone: string, after: Date): Date | null {
  const anywhere = parseCron(cron, 'UTC')
  const withSeconds = cron.split(/ +/).length === 5 ? `0 ${cron}` : cron
  // The year may be another one in the zone.
  let from = new Date(after.getTime() - DAY_MS)
  for (let tries = 0; tries < MOST_YEARS; tries++) {
    const year = anywhere.next(from)?.getUTCFullYear()
    if (year === undefined) return null
    const pattern = new Cron(`${withSeconds} ${year}`, { timezone: canonicalZone(timezone), mode: '7-part' })
    const tick = pattern.nextRun(after)
    if (tick) return tick
    from = new Date(Date.UTC(year, 11, 31, 23, 59, 59))
  }
  return null
}

/** Croner would also take a date, which ticks once and is what `runAt` is for. */
function assertShape(cron: string): void {
  if (typeof cron !== 'string') throw new OncueError('INVALID_CRON', 'cron must be a string')
  if (cron.length > MAX_LENGTH) {
    const message = `cron has ${cron.length} characters, at most ${MAX_LENGTH} are allowed`
    throw new OncueError('INVALID_CRON', message)
  }
  if (/^@[a-z]+$/i.test(cron) || /^[\x21-\x7e]+(?: +[\x21-\x7e]+){4,5}$/.test(cron)) return
  throw new OncueError('INVALID_CRON', `cron ${JSON.stringify(cron)} must have five or six fields`)
}

/**
 * By name: an offset (`+02:00`) ignores daylight saving time, which is rarely intended. One spelling for each zone,
 * because Croner keeps what it knows of every spelling for ever.
 */
function canonicalZone(timezone: string): string {
  try {
    if (typeof timezone === 'string' && /^[A-Za-z]/.test(timezone) && timezone.length <= MAX_LENGTH)
      return new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone
  } catch {
    // Intl does not know it.
  }
  const given = JSON.stringify(String(timezone).slice(0, 60))
  throw new OncueError('INVALID_CRON', `timezone ${given} is not a known time zone`)
}

const MANY = 3

/** The planned tick, which may be due by now, and the next ones after now. Empty for a paused schedule. */
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
    // It was broken by hand; the others can still be listed.
    if (!isOncueError(error, 'INVALID_CRON')) throw error
  }
  return runs
}

/** A tick at most this late was not missed: the process was busy, or restarted. */
const ON_TIME_MS = 60_000
/** An outage of a month would otherwise make a month of jobs at once. */
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
 * The last tick up to a moment, by bisection: a pattern of every second has 2.6 million ticks in a month,
 * and this computes about twenty of them. `first` is a tick.
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
