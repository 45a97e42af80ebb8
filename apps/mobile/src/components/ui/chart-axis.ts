import { clock, day, duration, number, percent, rate } from '../../lib/format.ts'
import { wallTime } from '../../lib/time-zone.ts'

/** What the values of a chart are. Counts are whole; shares go from 0 to 1; durations are milliseconds. */
export type Unit = 'count' | 'rate' | 'share' | 'duration'

export const FORMATS: Readonly<Record<Unit, (value: number) => string>> = {
  count: number,
  rate,
  share: percent,
  duration,
}

export interface Tick {
  readonly value: number
  readonly label: string
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Steps that people count in; between neighbours at most 2.5, so that there are always enough ticks. */
const STEPS_MS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((many) => many * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((many) => many * MINUTE),
  ...[1, 2, 3, 6, 12].map((many) => many * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100].map((many) => many * DAY),
]

const MIN_PARTS = 3
const MAX_PARTS = 5

/** From zero, always: a line that starts elsewhere misleads. Four to six ticks, the last at or above the highest value. */
export function valueTicks(highest: number, unit: Unit, maxParts = MAX_PARTS): readonly Tick[] {
  const parts = Math.max(1, Math.min(MAX_PARTS, maxParts))
  const end = highest > 0 ? highest : EMPTY[unit]
  const step = unit === 'duration' ? durationStep(end, parts) : decimalStep(end, parts, unit)
  const many = Math.max(Math.min(MIN_PARTS, parts), Math.ceil(end / step - 1e-9))
  const format = unit === 'duration' ? inUnitOf(step) : FORMATS[unit]
  return Array.from({ length: many + 1 }, (_, index) => {
    const value = exact(index * step)
    return { value, label: value === 0 ? '0' : format(value) }
  })
}

/** The highest value of an axis of which nothing is known yet. */
const EMPTY: Readonly<Record<Unit, number>> = { count: 1, rate: 1, share: 0.1, duration: SECOND }

/** 1, 2, 5, 10, 20, 50 …; a count has no halves. */
function decimalStep(end: number, parts: number, unit: Unit): number {
  const power = 10 ** Math.floor(Math.log10(end / parts))
  const step = [1, 2, 5, 10].map((each) => exact(each * power)).find((each) => each * parts >= end - 1e-9)
  return unit === 'count' ? Math.max(1, step ?? 1) : (step ?? power)
}

function durationStep(end: number, parts: number): number {
  return STEPS_MS.find((step) => step * parts >= end) ?? decimalStep(end / DAY, parts, 'count') * DAY
}

/** All ticks in the unit of their step: `60 s, 90 s`, `60 min, 90 min`. From a tenth of a second on in seconds. */
function inUnitOf(step: number): (ms: number) => string {
  const [unit, ms] = DURATION_UNITS.find(([, each]) => step >= each) ?? ['ms', 1]
  return (value) => `${number(exact(value / (ms === SECOND / 10 ? SECOND : ms)))}\u00a0${unit}`
}

const DURATION_UNITS = [
  ['d', DAY],
  ['h', HOUR],
  ['min', MINUTE],
  ['s', SECOND],
  ['s', SECOND / 10],
] as const

/** Where a clock on the wall shows a full step. The span alone says which step, so that it does not change as time goes on. */
export function timeTicks(from: Date, to: Date, maxTicks = MAX_PARTS + 1): readonly Tick[] {
  const span = to.getTime() - from.getTime()
  const step = STEPS_MS.find((each) => each >= MINUTE && Math.floor(span / each) < maxTicks) ?? span
  const past = wallTime(from) % step
  const ticks: Tick[] = []
  for (let at = from.getTime() + (past === 0 ? 0 : step - past); at <= to.getTime(); at += step)
    ticks.push({ value: at, label: labelOf(new Date(at), span) })
  return ticks
}

/** The day at midnight, where more than half a day is shown. */
function labelOf(at: Date, span: number): string {
  return span > DAY / 2 && wallTime(at) % DAY === 0 ? day(at) : clock(at)
}

/** Without what floating point adds: 0.30000000000000004. */
const exact = (value: number) => Number(value.toPrecision(12))
