import { z } from 'zod'
import { enqueueOptionsSchema } from './enqueue-options.ts'
import { queueSchema, topicSchema } from './names.ts'
import { plainText } from './plain-text.ts'

const pausedSchema = z.object({ at: z.date(), by: z.string().nullable() }).nullable()

export const limitSchema = z.strictObject({
  maxRunning: z.int().min(0).max(1_000_000).nullish().describe('how many run at once; 0 stops them'),
  rate: z
    .strictObject({ count: z.int().min(1).max(10_000), intervalMs: z.int().min(1).max(86_400_000) })
    .nullish()
    .describe('how many start within any interval'),
})

export const queueOverviewSchema = z.object({
  queue: z.string(),
  waiting: z.int().describe('ready to run'),
  scheduled: z.int().describe('due later'),
  running: z.int(),
  blocked: z.int().describe('waiting for other jobs'),
  held: z.int().describe('due, but held back by a full concurrency key'),
  oldestWaiting: z.date().nullable(),
  paused: pausedSchema,
  ageingMs: z.int().nullable(),
  limit: limitSchema.nullable(),
})

export const queueRequestSchema = z.strictObject({ queue: queueSchema })

export const limitRequestSchema = z.union([
  z.strictObject({ queue: queueSchema, limit: limitSchema.nullable() }),
  z.strictObject({ concurrencyKey: plainText(255).min(1), limit: limitSchema.nullable() }),
])

export const configureQueueRequestSchema = z.strictObject({
  queue: queueSchema,
  ageingMs: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .nullable()
    .describe('waiting this long raises a job’s priority by one; null: never'),
})

export const workerSchema = z.object({
  id: z.string(),
  host: z.string(),
  pid: z.int(),
  queues: z.array(z.string()),
  concurrency: z.int(),
  version: z.string(),
  startedAt: z.date(),
  lastBeat: z.date(),
  missingSince: z.date().nullable().describe('since when its presence cannot be seen'),
  running: z.int(),
})

export const announcedTopicSchema = z.object({
  topic: z.string(),
  input: z.unknown().describe('JSON Schema'),
  output: z.unknown().describe('JSON Schema'),
  policy: z.unknown(),
  announced: z.date(),
  clash: z
    .array(z.object({ services: z.array(z.string()), workers: z.int() }))
    .nullable()
    .describe(
      'workers that run now announced different schemas: one entry for each; null: all have the same',
    ),
})

export const scheduleRequestSchema = z.strictObject({
  name: topicSchema,
  cron: z.string().max(255).describe('five fields, or six with seconds'),
  timezone: z.string().max(64).default('UTC').describe('IANA'),
  topic: topicSchema,
  payload: z.unknown().optional(),
  options: enqueueOptionsSchema.default({}),
  missed: z
    .enum(['skip', 'one', 'all'])
    .default('skip')
    .describe('what to do with ticks that nobody saw: none, the last, all'),
})

export const scheduleSchema = z.object({
  name: z.string(),
  cron: z.string(),
  timezone: z.string(),
  topic: z.string(),
  payload: z.unknown(),
  options: z.record(z.string(), z.unknown()),
  missed: z.enum(['skip', 'one', 'all']),
  source: z.enum(['code', 'database']),
  service: z.string().nullable().describe('of one in code: whose code'),
  nextAt: z.date().nullable(),
  nextRuns: z.array(z.date()).describe('the next three, the first of them nextAt; none while it is paused'),
  lastAt: z.date().nullable(),
  paused: pausedSchema,
})

export const scheduleNameSchema = z.strictObject({ name: topicSchema })
