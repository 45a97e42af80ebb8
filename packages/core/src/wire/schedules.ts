import { z } from 'zod'
import { missedSchema } from '../define/schedule.ts'
import { enqueueOptionsSchema } from '../job/enqueue-options.ts'
import { topicSchema } from '../job/names.ts'
import { pausedSchema } from './fields.ts'

export const scheduleNameSchema = z.strictObject({ name: topicSchema })

export const scheduleRequestSchema = scheduleNameSchema.extend({
  cron: z.string().max(255).describe('five fields, or six with seconds'),
  timezone: z.string().max(64).default('UTC').describe('IANA'),
  topic: topicSchema,
  payload: z.unknown().optional(),
  options: enqueueOptionsSchema.default({}),
  missed: missedSchema.default('skip').describe('what to do with missed ticks: none, the last, all'),
  takeOver: z
    .boolean()
    .default(false)
    .describe('true: also if a schedule of this name is declared in code; otherwise SCHEDULE_IN_CODE'),
})

export const previewScheduleRequestSchema = scheduleRequestSchema
  .pick({ cron: true, timezone: true })
  .extend({
    count: z.int().min(1).max(10).default(5).describe('how many runs'),
  })

export const schedulePreviewSchema = z.object({
  runs: z.array(z.date()).describe('the next runs, by the clock of the store'),
})

export const scheduleSchema = z.object({
  /** Unique among all schedules. */
  name: z.string(),
  /** Five fields, or six with seconds. */
  cron: z.string(),
  /** IANA. */
  timezone: z.string(),
  /** The topic of its jobs. */
  topic: z.string(),
  /** The payload of its jobs. */
  payload: z.unknown(),
  /** Options of an enqueue, for its jobs. */
  options: z.record(z.string(), z.unknown()),
  /** Ticks while no worker ran become no job, one for the last, or one each (up to 100). */
  missed: missedSchema,
  /** Declared in code, or created by people. */
  source: z.enum(['code', 'database']),
  /** The service that declared it in code. Other services do not change it. */
  service: z.string().nullable().describe('for schedules in code: the service that declares it'),
  /** Null: never again, or paused. */
  nextAt: z.date().nullable(),
  nextRuns: z.array(z.date()).describe('the next three ticks, starting with nextAt; empty while paused'),
  lastAt: z.date().nullable(),
  paused: pausedSchema,
})

export const savedScheduleSchema = scheduleSchema.extend({
  warning: z.string().optional().describe('no worker has announced the topic'),
})

export const removedScheduleSchema = z
  .object({ warning: z.string().describe('it is declared in code, and comes back') })
  .nullable()
  .describe('null: it stays removed')
export type ShownSchedule = Readonly<z.output<typeof scheduleSchema>>
