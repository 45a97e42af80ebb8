import { z } from 'zod'
import { queueSchema } from './names.ts'
import { queueOverviewSchema } from './wire-admin.ts'
import { stepMinutesSchema, timeSchema } from './wire-jobs.ts'

/** How many minutes a sparkline shows; its last value is the minute that runs now. */
export const SPARK_MINUTES = 30

/** How many queues health and metrics list, the worst first; the others are counted together. */
export const MAX_HEALTH_QUEUES = 500

const sparkSchema = z.array(z.number()).length(SPARK_MINUTES)

/** What is wrong with a queue, the worst first. */
export const QUEUE_STATES = ['stalled', 'late', 'failing', 'paused', 'ok', 'idle'] as const
const queueStateSchema = z.enum(QUEUE_STATES)
export type QueueState = z.output<typeof queueStateSchema>

export const queueHealthSchema = queueOverviewSchema.extend({
  state: queueStateSchema.describe(
    'stalled: jobs wait and none is done; late: the oldest waits too long; failing: too many runs fail; idle: nothing to do',
  ),
  capacity: z.int().describe('slots of the workers that serve it'),
  throughput: z.number().describe('jobs finished a minute, over the last five'),
  failureRate: z
    .number()
    .nullable()
    .describe(
      'share of the runs that failed, retried ones too, 0 to 1, over the last 15 minutes; null: nothing ran',
    ),
  failedLastHour: z.int().describe('jobs that failed for good'),
  spark: z.object({ completed: sparkSchema, failed: sparkSchema, waiting: sparkSchema }),
})
export type QueueHealth = z.output<typeof queueHealthSchema>

export const LEVELS = ['good', 'warn', 'bad'] as const

/** A number of the home screen, minute by minute. */
const tile = <Value extends z.ZodType>(value: Value) => z.object({ value, spark: sparkSchema })

/** How everything is: what somebody on call looks at first. */
export const healthSchema = z.object({
  now: z.date().describe("the store's clock"),
  dialect: z.enum(['postgres', 'sqlite']),
  version: z.string().describe('of the API'),
  environment: z.string().nullable().describe('its name, such as production (ONCUE_ENVIRONMENT)'),
  summary: z.object({
    level: z.enum(LEVELS),
    text: z.string().describe('one sentence: "2 queues late, mail failing 14 %"'),
  }),
  oldestWaiting: tile(z.date().nullable()).describe('since when; the spark in seconds'),
  backlog: tile(z.int()),
  throughput: tile(z.number()).describe('jobs finished a minute, over the last five'),
  failureRate: tile(z.number().nullable()).describe('0 to 1, over the last 15 minutes; null: nothing ran'),
  workers: z.object({
    alive: z.int(),
    missing: z.int(),
    slots: z.int().describe('how many jobs they can run at once'),
    running: z.int(),
    spark: sparkSchema,
  }),
  thresholds: z
    .object({ oldestWaitingSeconds: z.number(), failureRate: z.number() })
    .describe('from which on a queue counts as late or failing: the strictest enabled rule'),
  queues: z.array(queueHealthSchema).describe(`trouble first, at most ${MAX_HEALTH_QUEUES}`),
  others: queueOverviewSchema
    .pick({ waiting: true, scheduled: true, running: true, blocked: true, held: true, oldestWaiting: true })
    .extend({ queues: z.int().describe('how many') })
    .describe('the queues that are not listed, together'),
  delivery: queueOverviewSchema
    .pick({ waiting: true, oldestWaiting: true, paused: true, limit: true })
    .describe('the queue `oncue`, from which alerts are sent'),
  failures: z
    .array(
      z.object({
        fingerprint: z.string(),
        class: z.string(),
        message: z.string(),
        topics: z.array(z.string()),
        queues: z.array(z.string()),
        count: z.int(),
        lastSeen: z.date(),
        isNew: z.boolean(),
      }),
    )
    .describe('the largest groups of the last hour, at most five'),
  alerts: z.object({ firing: z.int(), acked: z.int(), snoozed: z.int() }),
})
export type Health = z.output<typeof healthSchema>

export const gaugesRequestSchema = z.strictObject({
  queue: queueSchema.optional().describe('all of them together when absent'),
  from: timeSchema,
  to: timeSchema,
  stepMinutes: stepMinutesSchema,
})

/** Of a step of several minutes the worst: the longest wait, the largest backlog, the fewest workers. */
export const gaugePointSchema = z.object({
  minute: z.date().describe('the first of the step; those in which nobody looked are left out'),
  waiting: z.int(),
  running: z.int(),
  oldestMs: z.int().describe('for how long the job that waited longest could have run'),
  workers: z
    .int()
    .nullable()
    .describe('alive, and serving the queue if one is named; null: not known, the queue was empty'),
  slots: z.int().nullable().describe('how many jobs they could run at once'),
})
