import { z } from 'zod'
import { jobIdSchema } from '../job/id.ts'
import { queueSchema } from '../job/names.ts'
import { pausedSchema, plainText } from './fields.ts'
import { waitReasonSchema } from './jobs.ts'

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
  /** Their handlers wait for a signal, a time, an answer or children. Counted nowhere else. */
  suspended: z.int().describe('their handlers wait for a signal, a time, an answer or children'),
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

/** A worker that was not heard of for so long is not taken to live. An idle one beats every 5 s. */
export const WORKER_SILENT_MS = 30_000

export const workerSchema = workerInfoSchema.extend({
  startedAt: z.date(),
  lastBeat: z.date(),
  missingSince: z.date().nullable().describe('since when the worker is missing'),
  running: z.int(),
  ended: z
    .object({
      at: z.date().describe('when it stopped, or was found dead'),
      how: z.enum(['stopped', 'lost']).describe('stopped: on purpose; lost: found dead'),
      released: z.int().describe('runs that were put back into their queues'),
      failed: z.int().describe('runs whose jobs ended with it: failed, or cancelled'),
    })
    .nullable()
    .describe('null: it has not ended'),
})
export type WorkerRow = Readonly<z.output<typeof workerSchema>>

export const listWorkersRequestSchema = z.strictObject({
  ended: z
    .boolean()
    .optional()
    .describe('also those that stopped or were lost in the last 7 days, at most 1,000; default: false'),
})

const WORKER_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export const workerRequestSchema = z.strictObject({
  id: z.string().regex(WORKER_ID, 'must be the id of a worker: a UUID in lower case'),
})

const workerRunSchema = z.object({
  id: jobIdSchema,
  queue: z.string(),
  topic: z.string(),
  run: z.int(),
  startedAt: z.date().nullable().describe('null: prefetched, or of a worker that ended'),
  outcome: z
    .enum(['released', 'failed', 'cancelled'])
    .nullable()
    .describe('what became of it when its worker was lost; null: it runs'),
})
export type WorkerRun = Readonly<z.output<typeof workerRunSchema>>

export const workerDetailsSchema = workerSchema.extend({
  service: z.string().nullable().describe('what it is a part of; null: not announced'),
  topics: z.array(z.string()).nullable().describe('the topics it runs; null: not announced'),
  runs: z.array(workerRunSchema).describe('what runs on it now; of a lost one, the first 100 it held'),
  runsAreComplete: z.boolean().describe('false: there may be more runs'),
})
export type WorkerDetails = Readonly<z.output<typeof workerDetailsSchema>>

/** Why the jobs of a queue wait, and how long it takes until none does. */
export const queueExplanationSchema = z.object({
  queue: z.string(),
  waiting: z.int().describe('ready to run; counted up to 10,000'),
  reasons: z
    .array(waitReasonSchema)
    .describe(
      'what keeps its jobs from running now, a pause and later jobs also while nothing waits; empty: nothing stands in its way',
    ),
  drain: z
    .object({
      text: z.string().describe('"9.8/min done, 0.2/min arriving: empty in about 7 min; 3 min with 4 slots"'),
      perMinute: z.number().describe('runs that ended per minute, over the last 5 min'),
      slots: z.int().describe('slots of the live workers that serve it'),
      busy: z.int().describe('how many of them run a job, of any queue'),
      aboutMs: z.int().nullable().describe('about how long until it is empty; null: it does not shrink'),
      withSlots: z
        .object({ slots: z.int(), aboutMs: z.int() })
        .nullable()
        .describe('the same with twice the slots; null: slots are not what it waits for'),
    })
    .nullable()
    .describe('null: nothing waits, or something else stops it'),
})
export type QueueExplanation = z.output<typeof queueExplanationSchema>

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
