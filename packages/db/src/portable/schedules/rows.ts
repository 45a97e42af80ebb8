import { type JobId, type NewJob, OncueError, prepareJob } from '@oncue/core'
import { toInputError, topicSchema } from '@oncue/core/internal'
import { z } from 'zod'
import type { Sql } from '../sql.ts'
import type { Schedule, ScheduleRow } from './types.ts'

/** A row of `schedules`, as it came. */
export type StoredSchedule = {
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly topic: string
  readonly payload: unknown
  readonly options: unknown
  readonly missed: Schedule['missed']
  readonly source: Schedule['source']
  readonly service: string | null
  readonly next_at: unknown
  readonly last_at: unknown
  readonly paused_at: unknown
  readonly paused_by: string | null
}

export function readSchedule(sql: Sql, row: StoredSchedule): ScheduleRow {
  const pausedAt = sql.time(row.paused_at)
  return {
    name: row.name,
    cron: row.cron,
    timezone: row.timezone,
    topic: row.topic,
    payload: sql.json(row.payload),
    options: sql.json(row.options) as Schedule['options'],
    missed: row.missed,
    source: row.source,
    service: row.service,
    nextAt: sql.time(row.next_at),
    lastAt: sql.time(row.last_at),
    paused: pausedAt && { at: pausedAt, by: row.paused_by },
  }
}

/** Names stand in keys and URLs, so they follow the rule of topics, whose names those in code have. Cron, topic, payload and options have checks of their own. */
const scheduleSchema = z.strictObject({
  name: topicSchema,
  cron: z.unknown(),
  timezone: z.unknown(),
  topic: z.unknown(),
  payload: z.unknown(),
  options: z.looseObject({}),
  missed: z.enum(['skip', 'one', 'all']),
  source: z.enum(['code', 'database']),
  service: z.string().min(1).max(128).nullish(),
})

/** What each tick decides by itself, or what can be true for one job only. */
const NOT_FOR_SCHEDULES = ['runAt', 'idempotencyKey', 'after'] as const

/** Refuses what would fail at the first tick, in the night, and answers the two as JSON texts. */
export function checkSchedule(schedule: Schedule): { readonly payload: string; readonly options: string } {
  const parsed = scheduleSchema.safeParse(schedule)
  if (!parsed.success) throw toInputError(parsed.error, 'schedule', schedule)
  for (const option of NOT_FOR_SCHEDULES) {
    if (schedule.options[option] === undefined) continue
    throw new OncueError(
      'INVALID_INPUT',
      `schedule.options.${option} cannot be set: it would be the same for every tick`,
    )
  }
  const { payload } = toJob(schedule)
  return { payload, options: JSON.stringify(schedule.options) }
}

export function toJob({ topic, payload, options }: Schedule, newId?: () => JobId): NewJob {
  return prepareJob(topic, payload, options, undefined, newId)
}

/**
 * The job of one tick. It is due at the tick itself, so that its handler can tell which one it runs for
 * and its wait is counted from the plan. The key makes it one job, whoever else ticks. No caller can name it: one
 * that enqueues the same topic cannot keep a tick out.
 */
export function toTickJob(schedule: Schedule, tick: Date, newId?: () => JobId): NewJob {
  const job = toJob(schedule, newId)
  return {
    ...job,
    runAt: new Date(tick.getTime() + job.delayMs),
    delayMs: 0,
    internalKey: `schedule:${schedule.name}:${tick.getTime()}`,
  }
}
