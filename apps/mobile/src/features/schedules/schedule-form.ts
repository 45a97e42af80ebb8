import { isOncueError } from '@oncue/sdk'
import type { Schedule } from './queries.ts'

/** As it is typed. */
export interface ScheduleText {
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly topic: string
  /** JSON; empty: null. */
  readonly payload: string
  readonly missed: Schedule['missed']
}

export type ScheduleErrors = Partial<Record<keyof ScheduleText, string>>

export type NewSchedule = Pick<Schedule, 'name' | 'cron' | 'timezone' | 'topic' | 'payload' | 'missed'>

export function textOf(schedule: Schedule | null): ScheduleText {
  if (!schedule)
    return { name: '', cron: '', timezone: ownTimezone(), topic: '', payload: '', missed: 'skip' }
  const { name, cron, timezone, topic, payload, missed } = schedule
  return {
    name,
    cron,
    timezone,
    topic,
    missed,
    payload: JSON.stringify(payload, null, 2),
  }
}

type Checked =
  | { readonly ok: true; readonly schedule: NewSchedule }
  | { readonly ok: false; readonly errors: ScheduleErrors }

/** Checks what needs no request to the API. `taken` are the names of other schedules. */
export function readSchedule(text: ScheduleText, taken: readonly string[]): Checked {
  const errors: ScheduleErrors = {}
  const [name, cron, timezone, topic] = [text.name, text.cron, text.timezone, text.topic].map((each) =>
    each.trim(),
  ) as [string, string, string, string]
  if (name === '') errors.name = 'Enter a name.'
  if (taken.includes(name)) errors.name = 'There is already a schedule with this name.'
  if (cron === '') errors.cron = 'Enter a pattern, such as 0 9 * * 1-5.'
  if (timezone === '') errors.timezone = 'Enter a time zone, such as UTC or Europe/Berlin.'
  if (topic === '') errors.topic = 'Enter a topic.'
  const payload = payloadIn(text.payload)
  if (payload === undefined) errors.payload = 'This is not valid JSON.'
  if (Object.keys(errors).length > 0) return { ok: false, errors }
  return {
    ok: true,
    schedule: { name, cron: cron.replace(/\s+/g, ' '), timezone, topic, payload, missed: text.missed },
  }
}

function payloadIn(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The field that the API refuses. Null: none of these. */
export function fieldOf(error: unknown): keyof ScheduleText | null {
  if (!isOncueError(error)) return null
  const [, field] = /^(?:input\.)?(name|cron|timezone|topic|payload|missed)\b/.exec(error.message) ?? []
  if (field !== undefined) return field as keyof ScheduleText
  return error.code === 'INVALID_TOPIC' || error.code === 'TOPIC_NOT_ALLOWED' ? 'topic' : null
}

/** Of this device: people think in their own time. */
const ownTimezone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
