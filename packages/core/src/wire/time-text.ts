const DAY_MS = 86_400_000

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
}

/** How `parsePastTime` wants it. */
export const PAST_TIME_HINT =
  'Use how long ago (30m, 2h, 7d), today, yesterday, a day (2026-01-31) or a moment (2026-01-31T09:00).'

/** How long ago, a day or a moment; null if it is none of these. */
export function parsePastTime(text: string, now: Date): Date | null {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(s|m|min|h|d|w)$/.exec(text) ?? []
  if (count !== undefined) return realOrNull(new Date(now.getTime() - Number(count) * (UNITS[unit] ?? 0)))
  const days = { today: 0, yesterday: -1 }[text.toLowerCase()]
  if (days !== undefined) return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days)
  return parseMoment(text)
}

const MOMENT = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?))?$/

/**
 * A day or a moment as ISO 8601 writes it; null for anything else: JavaScript reads `10 feb` as a day of 2001, and
 * 31 February as 3 March. Without a zone it is in the time zone of this device.
 */
export function parseMoment(text: string): Date | null {
  const [, date, time = '00:00'] = MOMENT.exec(text) ?? []
  return date !== undefined && isDay(date) ? realOrNull(new Date(`${date}T${time}`)) : null
}

function realOrNull(at: Date): Date | null {
  return at.getFullYear() > 0 ? at : null
}

function isDay(date: string): boolean {
  const at = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(date)
}
