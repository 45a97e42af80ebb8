import { count, dayAndTime, duration, number, percent, timeOrDay } from '../../lib/format.ts'
import type { Alert, Rule } from './queries.ts'

export type Kind = Alert['kind']

interface Words {
  /** What a rule of this kind is about. */
  readonly title: string
  /** The value with its unit. */
  readonly measure: (value: number) => string
  /** What was measured, under the number. */
  readonly what: string
  /** "the oldest job waits longer than 5 min". */
  readonly condition: (limit: string, threshold: number) => string
  /** The unit in which a limit is entered, and its factor to the unit on the wire. */
  readonly unit: string
  readonly scale: number
  /** The limit with its unit, where that differs from the value's. */
  readonly limit?: (value: number) => string
  /** Measured over all queues together, not for each queue. */
  readonly isOfAll?: true
  readonly isOfTopic?: true
}

/** Whole seconds: tenths change no decision. */
const seconds = (value: number) => (value < 1 ? '0 s' : duration(Math.floor(value) * 1_000))

export const KINDS: Readonly<Record<Kind, Words>> = {
  oldest_waiting: {
    ...{ title: 'Jobs wait too long', what: 'wait of the oldest job', unit: 'minutes', scale: 60 },
    ...{ measure: seconds, condition: (limit) => `the oldest job waits longer than ${limit}` },
  },
  failure_rate: {
    ...{ title: 'Too many jobs fail', what: 'of runs failed in 15\u00a0min', unit: 'percent', scale: 0.01 },
    ...{ measure: percent, condition: (limit) => `${limit} or more of runs fail within 15\u00a0min` },
  },
  no_workers: {
    ...{ title: 'Too few workers', what: 'alive', unit: 'workers', scale: 1, isOfAll: true },
    measure: (value) => count(value, 'worker'),
    condition: (limit, threshold) => `at most ${limit} ${threshold === 1 ? 'is' : 'are'} alive`,
  },
  stalled: {
    ...{ title: 'Queue is stalled', what: 'waiting, none finished', unit: 'jobs', scale: 1 },
    measure: (value) => count(value, 'job'),
    condition: (_, threshold) => `${number(threshold)} or more jobs wait and none finishes`,
  },
  paused: {
    ...{ title: 'Queue paused too long', what: 'paused', unit: 'minutes', scale: 60 },
    ...{ measure: seconds, condition: (limit) => `paused for more than ${limit}` },
  },
  new_error: {
    ...{ title: 'New error', what: 'new in the last hour', unit: 'days', scale: 1 },
    measure: (value) => count(value, 'error'),
    limit: (value) => count(value, 'day'),
    condition: (limit) => `an error appears that was not seen for ${limit}`,
  },
  topic_failure_rate: {
    ...{
      title: 'Topic fails too often',
      what: 'of runs failed in 15\u00a0min',
      unit: 'percent',
      scale: 0.01,
    },
    ...{ measure: percent, condition: (limit) => `${limit} or more of runs fail within 15\u00a0min` },
    isOfTopic: true,
  },
}

/** "the oldest job waits longer than 5 min, for 1 min". */
export function conditionOf({
  kind,
  threshold,
  forSeconds,
}: Pick<Rule, 'kind' | 'threshold' | 'forSeconds'>) {
  const held = forSeconds === 0 ? '' : `for ${seconds(forSeconds)}`
  if (kind === 'no_workers' && threshold === 0) return `no worker is alive ${held}`.trim()
  return [KINDS[kind].condition(limitOf(kind, threshold), threshold), held].filter(Boolean).join(', ')
}

export function limitOf(kind: Kind, threshold: number): string {
  const { measure, limit = measure } = KINDS[kind]
  return limit(threshold)
}

/** Of which queue or topic: "mail", "all queues". */
export function placeOf({
  kind,
  queue,
  topic,
}: Pick<Rule, 'kind' | 'queue'> & Partial<Pick<Rule, 'topic'>>): string {
  return topic ?? queue ?? (KINDS[kind].isOfAll ? 'all workers' : 'all queues')
}

/** As entered, in the form's unit: 300 s are 5 minutes. */
export function toEntered(value: number, scale: number): string {
  return String(Number((value / scale).toPrecision(12)))
}

/** Null: not a number, or not valid as a limit. */
export function fromEntered(text: string, scale: number): number | null {
  const trimmed = text.trim().replace(',', '.')
  if (!/^\d+(\.\d+)?$/.test(trimmed)) return null
  return Number((Number(trimmed) * scale).toPrecision(12))
}

export interface SnoozeChoice {
  readonly label: string
  readonly until: Date
  /** `until` in words. */
  readonly when: string
}

const MINUTE = 60_000
/** Of this device, in whatever zone times are shown. */
const MORNING = 9
/** Before this hour, the next morning is today's. */
const DAWN = 6

export function snoozeChoices(now: number): readonly SnoozeChoice[] {
  const morning = new Date(now)
  const isNight = morning.getHours() < DAWN
  morning.setDate(morning.getDate() + (isNight ? 0 : 1))
  morning.setHours(MORNING, 0, 0, 0)
  const after = (label: string, minutes: number) => {
    const until = new Date(now + minutes * MINUTE)
    return { label, until, when: timeOrDay(until, now) }
  }
  return [
    after('15 minutes', 15),
    after('1 hour', 60),
    after('8 hours', 480),
    {
      label: isNight ? 'Until this morning' : 'Until tomorrow morning',
      until: morning,
      // Always with its day: in UTC it may not be the one that the label makes one expect.
      when: dayAndTime(morning),
    },
  ]
}

/** Alerts of one cause together, the most urgent first. */
export function byGroup(alerts: readonly Alert[]): Alert[][] {
  const groups = new Map<string, Alert[]>()
  for (const alert of byUrgency(alerts))
    groups.set(alert.groupId, [...(groups.get(alert.groupId) ?? []), alert])
  return [...groups.values()]
}

const ORDER: Readonly<Record<Alert['state'], number>> = { firing: 0, snoozed: 1, acked: 2, resolved: 3 }

/** Unacknowledged alerts first; among equals the newest. */
export function byUrgency(alerts: readonly Alert[]): Alert[] {
  return [...alerts].sort(
    (a, b) => ORDER[a.state] - ORDER[b.state] || b.firedAt.getTime() - a.firedAt.getTime(),
  )
}
