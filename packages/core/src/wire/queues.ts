import { z } from 'zod'
import { queueSchema } from '../job/names.ts'
import { pausedSchema, plainText } from './fields.ts'

export const limitSchema = z.strictObject({
  /** How many run at once; 0 stops them. Null: any number. */
  maxRunning: z.int().min(0).max(1_000_000).nullish().describe('how many may run at once; 0: none start'),
  /** How many start within any `intervalMs` milliseconds; up to 10,000. Null: any number. */
  rate: z
    .strictObject({
      /** How many may start, 1 to 10,000. */
      count: z.int().min(1).max(10_000),
      /** Within this many milliseconds, up to a day. */
      intervalMs: z.int().min(1).max(86_400_000),
    })
    .nullish()
    .describe('how many may start within any interval'),
})
export type Limit = Readonly<z.output<typeof limitSchema>>

export const queueOverviewSchema = z.object({
  queue: z.string(),
  /** Ready to run. */
  waiting: z.int().describe('ready to run'),
  /** Due later. */
  scheduled: z.int().describe('due later'),
  running: z.int(),
  /** Waiting for other jobs. */
  blocked: z.int().describe('waiting for other jobs'),
  /** Due, but throttled by a full concurrency key. */
  throttled: z.int().describe('due, but waiting for a slot of their concurrency key'),
  /** Since when the longest-waiting job could have run. */
  oldestWaiting: z.date().nullable(),
  paused: pausedSchema
    .unwrap()
    .extend({ until: z.date().nullable().describe('when the pause ends by itself; null: never') })
    .nullable(),
  ageingMs: z.int().nullable(),
  limit: limitSchema.nullable(),
})
export type QueueOverview = Readonly<z.output<typeof queueOverviewSchema>>

export const queueRequestSchema = z.strictObject({ queue: queueSchema })

export const MAX_PAUSE_SECONDS = 30 * 86_400

export const pauseQueueRequestSchema = queueRequestSchema.extend({
  /** 1 to 2,592,000 (30 days). */
  forSeconds: z
    .int()
    .min(1)
    .max(MAX_PAUSE_SECONDS)
    .optional()
    .describe('the pause ends by itself after this time; default: it lasts until the queue is resumed'),
})

const concurrencyKeySchema = z.strictObject({ concurrencyKey: plainText(255).min(1) })

/** A queue, or the jobs that share a concurrency key. */
export type LimitTarget = Readonly<
  z.output<typeof queueRequestSchema> | z.output<typeof concurrencyKeySchema>
>

export const limitRequestSchema = z.union([
  queueRequestSchema.extend({ limit: limitSchema.nullable() }),
  concurrencyKeySchema.extend({ limit: limitSchema.nullable() }),
])

const queueSettingsSchema = z.strictObject({
  /** Milliseconds: waiting this long raises a job's priority by one, so that low ones are not starved. Null: never. */
  ageingMs: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .nullable()
    .describe('waiting this long raises a job’s priority by one; null: never'),
})
export type QueueSettings = Readonly<Partial<z.output<typeof queueSettingsSchema>>>

export const configureQueueRequestSchema = queueRequestSchema.extend(queueSettingsSchema.shape)

const workerInfoSchema = z.object({
  /** A UUID. */
  id: z.string(),
  host: z.string(),
  pid: z.int(),
  queues: z.array(z.string()),
  concurrency: z.int(),
  version: z.string(),
})
export type WorkerInfo = Readonly<z.output<typeof workerInfoSchema>>

export const workerSchema = workerInfoSchema.extend({
  startedAt: z.date(),
  lastBeat: z.date(),
  missingSince: z.date().nullable().describe('since when the worker is missing'),
  running: z.int(),
})
export type WorkerRow = Readonly<z.output<typeof workerSchema>>

const topicAnnouncementSchema = z.object({
  topic: z.string(),
  input: z.unknown().describe('JSON Schema'),
  output: z.unknown().describe('JSON Schema'),
  /** The options that the definition sets: queue, priority, retries, timeout. */
  policy: z.unknown(),
})
export type TopicAnnouncement = Readonly<z.output<typeof topicAnnouncementSchema>>

const topicRowSchema = topicAnnouncementSchema.extend({ announced: z.date() })
export type TopicRow = Readonly<z.output<typeof topicRowSchema>>

export const announcedTopicSchema = topicRowSchema.extend({
  clash: z
    .array(z.object({ services: z.array(z.string()), workers: z.int() }))
    .nullable()
    .describe('running workers announced different schemas: one entry each; null: all announced the same'),
})
