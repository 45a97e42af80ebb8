/** The zone in which all absolute times are shown: that of this device, or UTC. */
export type TimeZone = 'local' | 'utc'

let shown: TimeZone = 'local'

/** Called by the preferences alone: screens that show times follow those. */
export function showTimesIn(zone: TimeZone): void {
  shown = zone
}

/** Minutes ahead of UTC, which in a zone with summer time differ from one moment to another. */
function aheadOf(at: Date): number {
  return shown === 'utc' ? 0 : -at.getTimezoneOffset()
}

export interface TimeParts {
  readonly year: number
  /** From 0. */
  readonly month: number
  readonly date: number
  readonly hours: number
  readonly minutes: number
  readonly seconds: number
}

/** What a clock on the wall shows, as if it were UTC: full hours are multiples of an hour in it. */
export function wallTime(at: Date): number {
  return at.getTime() + aheadOf(at) * 60_000
}

export function readTime(at: Date): TimeParts {
  const wall = new Date(wallTime(at))
  return {
    year: wall.getUTCFullYear(),
    month: wall.getUTCMonth(),
    date: wall.getUTCDate(),
    hours: wall.getUTCHours(),
    minutes: wall.getUTCMinutes(),
    seconds: wall.getUTCSeconds(),
  }
}

/** The moment at which a clock on the wall shows this. Null: it never does, as on 31 February. */
export function momentOf(parts: TimeParts): Date | null {
  const { year, month, date, hours, minutes, seconds } = parts
  const at =
    shown === 'utc'
      ? new Date(Date.UTC(year, month, date, hours, minutes, seconds))
      : new Date(year, month, date, hours, minutes, seconds)
  const read = readTime(at)
  return read.month === month && read.date === date && read.hours === hours ? at : null
}

/** `Europe/Berlin`, `UTC`: for times that are still to be entered, of which some may be in summer. */
export function zoneName(): string {
  if (shown === 'utc') return 'UTC'
  return Intl.DateTimeFormat().resolvedOptions().timeZone || zoneOf(new Date())
}

/** `UTC`, `UTC+1`, `UTC−3:30`: abbreviations such as IST mean several zones. */
export function zoneOf(at: Date): string {
  const ahead = aheadOf(at)
  if (ahead === 0) return 'UTC'
  const rest = Math.abs(ahead) % 60
  const hours = Math.floor(Math.abs(ahead) / 60)
  return `UTC${ahead < 0 ? '−' : '+'}${hours}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`
}
