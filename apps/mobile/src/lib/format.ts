import { readTime, wallTime, zoneOf } from './time-zone.ts'

/** Never the end of a line. */
export const FIXED = '\u00a0'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Every digit: `1,204,311`. */
export function number(value: number): string {
  const [whole = '', part] = String(Math.abs(value)).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',')
  return `${value < 0 ? '−' : ''}${grouped}${part === undefined ? '' : `.${part}`}`
}

/** For rates, where a third digit is noise: `0.4`, `12.5`, `340`. */
export function rate(value: number): string {
  return number(value < 100 ? Math.round(value * 10) / 10 : Math.round(value))
}

/** A number and its unit separately, to be set in two sizes. */
export interface Quantity {
  readonly value: string
  readonly unit: string
}

const joined = (parts: readonly Quantity[]) =>
  parts.map(({ value, unit }) => `${value}${FIXED}${unit}`).join(' ')

/** A share from 0 to 1, as the server writes it: `14%`, `6.5%`. A share above 0 is never shown as 0%, one below 1 never as 100%. */
export function percent(share: number): string {
  const exact = share * 100
  if (exact > 0 && exact < 0.1) return '<0.1%'
  if (exact < 100 && exact > 99.9) return '>99.9%'
  if (exact < 10) return `${Math.round(exact * 10) / 10}%`
  return `${exact < 100 ? Math.min(99, Math.round(exact)) : Math.round(exact)}%`
}

/** Text of the server, with each duration kept in one line: its spaces may break. */
export function unbroken(text: string): string {
  return text.replace(/(\d) (?=(?:ms|s|min|h|d)\b)/g, `$1${FIXED}`)
}

/** Two units at most: `340 ms`, `12 s`, `4 min 10 s`, `1 h 4 min`, `36 h`, `9 d 3 h`. */
export function duration(ms: number): string {
  return joined(durationParts(ms))
}

function durationParts(ms: number): readonly Quantity[] {
  const time = Math.max(0, ms)
  if (time < SECOND) return [{ value: String(Math.round(time)), unit: 'ms' }]
  if (time < 10 * SECOND) return [{ value: String(Math.floor(time / 100) / 10), unit: 's' }]
  if (time < MINUTE) return [{ value: String(Math.floor(time / SECOND)), unit: 's' }]
  if (time < HOUR) return two(time, MINUTE, 'min', SECOND, 's')
  if (time < 2 * DAY) return two(time, HOUR, 'h', MINUTE, 'min')
  return two(time, DAY, 'd', HOUR, 'h')
}

function two(time: number, large: number, largeUnit: string, small: number, smallUnit: string) {
  const whole = { value: String(Math.floor(time / large)), unit: largeUnit }
  const rest = Math.floor((time % large) / small)
  return rest === 0 ? [whole] : [whole, { value: String(rest), unit: smallUnit }]
}

/** How long ago, for text that ticks: in whole seconds, since tenths would flicker. */
export function age(from: Date, now: number): string {
  return joined(ageParts(from, now))
}

export function ageParts(from: Date, now: number): readonly Quantity[] {
  const ms = now - from.getTime()
  return ms < SECOND ? [{ value: '0', unit: 's' }] : durationParts(Math.floor(ms / SECOND) * SECOND)
}

/** `now`, `4 min ago`: one unit, since it is read at a glance. */
export function ago(from: Date, now: number): string {
  return now - from.getTime() < 5 * SECOND ? 'now' : `${ageInOne(from, now)}${FIXED}ago`
}

/** `4 min`, `36 h`, `9 d`: one unit, as `ago`. */
export function ageInOne(from: Date, now: number): string {
  const ms = Math.max(0, now - from.getTime())
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}${FIXED}s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}${FIXED}min`
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}${FIXED}h`
  return `${Math.floor(ms / DAY)}${FIXED}d`
}

/** `in 4 min`. */
export function until(to: Date, now: number): string {
  const ms = to.getTime() - now
  if (ms < SECOND) return 'now'
  return `in ${duration(Math.floor(ms / SECOND) * SECOND)}`
}

/** `in 4 min`, in one unit, rounded as the API rounds the reasons for a wait. */
export function untilAbout(to: Date, now: number): string {
  const ms = to.getTime() - now
  const unit =
    [SECOND, MINUTE, HOUR].find((size, at, all) => Math.round(ms / size) < (all[at + 1] ?? DAY) / size) ?? DAY
  return `in ${duration(Math.max(1, Math.round(ms / unit)) * unit)}`
}

/** `03:12`, for places that name the zone beside it: an axis, a list of times. */
export function clock(at: Date): string {
  const { hours, minutes } = readTime(at)
  return `${pad(hours)}:${pad(minutes)}`
}

/** `03:12:05`, likewise. */
export function clockSeconds(at: Date): string {
  return `${clock(at)}:${pad(readTime(at).seconds)}`
}

/** `at 03:12:05`, or `on 15 Nov at 03:12:05`: instead of an age that nothing measures any more. */
export function atTime(at: Date, now: number): string {
  const time = `at ${clockSeconds(at)}`
  return isSameDay(at, new Date(now)) ? time : `on ${day(at)} ${time}`
}

/** `03:12 UTC+1`. */
export function timeOfDay(at: Date): string {
  return `${clock(at)}${FIXED}${zoneOf(at)}`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `16 Nov`. */
export function day(at: Date): string {
  const { date, month } = readTime(at)
  return `${date}${FIXED}${MONTHS[month]}`
}

export function isSameDay(one: Date, other: Date): boolean {
  return day(one) === day(other) && readTime(one).year === readTime(other).year
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** `Thu 19 Nov, 09:00 UTC+1`, for what is days away at most. */
export function dayAndTime(at: Date): string {
  return `${WEEKDAYS[new Date(wallTime(at)).getUTCDay()]} ${day(at)}, ${timeOfDay(at)}`
}

/** `09:00 UTC+1`, with the day if that is not the day of `now`. */
export function timeOrDay(at: Date, now: number): string {
  return isSameDay(at, new Date(now)) ? timeOfDay(at) : dayAndTime(at)
}

/** `09:00 UTC+1` today, else `19 Nov`, and of another year `19 Nov 2027`: the end of what may last for weeks. */
export function timeOrDate(at: Date, now: number): string {
  if (isSameDay(at, new Date(now))) return timeOfDay(at)
  const { year } = readTime(at)
  return year === readTime(new Date(now)).year ? day(at) : `${day(at)} ${year}`
}

/** `16 Nov, 03:12:05 UTC+1`. */
export function moment(at: Date): string {
  return `${day(at)}, ${clockSeconds(at)}${FIXED}${zoneOf(at)}`
}

/** `3 Oct 2026, 14:05 UTC+2`, for what may be long ago. */
export function date(at: Date): string {
  return `${day(at)} ${readTime(at).year}, ${timeOfDay(at)}`
}

/** `16 Nov, 03:12:05 UTC+1`, and of another year than now `16 Nov 2025, 03:12:05 UTC+1`. */
export function momentWithYear(at: Date, now: number): string {
  const { year } = readTime(at)
  if (year === readTime(new Date(now)).year) return moment(at)
  return `${day(at)} ${year}, ${clockSeconds(at)}${FIXED}${zoneOf(at)}`
}

/** `1 job`, `312 jobs`, `2 queues`. */
export function count(many: number, noun: string, nouns = `${noun}s`): string {
  return `${number(many)}${FIXED}${many === 1 ? noun : nouns}`
}

export interface Failing {
  readonly retrying: number
  readonly undoing: number
  readonly retryingIsExact: boolean
  readonly failed: number
}

/** `2,105 retrying · 1 undoing · 40 gave up`, without parts that are zero. */
export function failing({ retrying, undoing, retryingIsExact, failed }: Failing): string {
  const parts = [
    retrying > 0 && `${retryingIsExact ? '' : 'at least '}${number(retrying)} retrying`,
    undoing > 0 && `${number(undoing)} undoing`,
    failed > 0 && `${number(failed)} gave up`,
  ]
  return parts.filter(Boolean).join(' · ')
}

/** The end of an id is what differs; the beginning is the time. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id
}

const pad = (part: number) => String(part).padStart(2, '0')
