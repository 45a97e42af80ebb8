import { z } from 'zod'
import { alertCountsSchema, FAILURE_MIN_RUNS } from './alerts.ts'
import { bulkOperationSchema } from './bulk-operations.ts'
import { queueOverviewSchema } from './queues.ts'
import { failureGroupSchema } from './stats.ts'

/** How many minutes a sparkline shows; its last value is the minute that runs now. */
export const SPARK_MINUTES = 30

/** How many queues health and metrics list, the worst first; the others are counted together. */
export const MAX_HEALTH_QUEUES = 500

const sparkSchema = z.array(z.number()).length(SPARK_MINUTES)

/** What is wrong with a queue, the worst first. */
export const QUEUE_STATES = ['stalled', 'late', 'failing', 'paused', 'ok', 'idle'] as const
const queueStateSchema = z.enum(QUEUE_STATES)
export type QueueState = z.output<typeof queueStateSchema>

const queueHealthSchema = queueOverviewSchema.extend({
  state: queueStateSchema.describe(
    'stalled: jobs wait and none finishes; late: the oldest waits too long; failing: too many runs fail; idle: nothing to do',
  ),
  capacity: z.int().describe('slots of the workers that serve it'),
  throughput: z.number().describe('finished jobs per minute, over the last 5 min'),
  drainMs: z
    .int()
    .nullable()
    .describe(
      'about how long until it is empty, by the last 5 min; null: it does not shrink, or nothing waits',
    ),
  failureRate: z
    .number()
    .nullable()
    .describe(
      'share of runs that failed, including retried ones, 0 to 1, over the last 15 min; null: nothing ran',
    ),
  isRateJudged: z
    .boolean()
    .describe(`whether the failure rate is judged: at least ${FAILURE_MIN_RUNS} runs ended in that time`),
  failedLastHour: z.int().describe('jobs that failed permanently'),
  spark: z
    .object({ throughput: sparkSchema, failureRate: sparkSchema, waiting: sparkSchema })
    .describe('the same numbers as they were, minute by minute; a rate is 0 where nothing ran'),
})
export type QueueHealth = z.output<typeof queueHealthSchema>

/** A number of the home screen, and what it was minute by minute, measured over the same time. */
const tile = <Value extends z.ZodType>(value: Value) => z.object({ value, spark: sparkSchema })

/** The state of the whole installation: what a person on call looks at first. */
export const healthSchema = z.object({
  now: z.date().describe("the store's clock"),
  dialect: z.enum(['postgres', 'sqlite']),
  version: z.string().describe('of the API'),
  environment: z
    .string()
    .nullable()
    .describe('name of the environment, such as production (ONCUE_ENVIRONMENT)'),
  summary: z.object({
    level: z.enum(['good', 'warn', 'bad']),
    text: z.string().describe('one sentence: "2 queues late, mail failing 14%"'),
  }),
  oldestWaiting: tile(z.date().nullable()).describe('since when; the spark is in seconds'),
  backlog: tile(z.int()),
  throughput: tile(z.number()).describe('finished jobs per minute, over the last 5 min'),
  failureRate: tile(z.number().nullable()).describe('0 to 1, over the last 15 min; null: nothing ran'),
  workers: z.object({
    alive: z.int(),
    missing: z.int(),
    slots: z.int().describe('how many jobs they can run at once'),
    running: z.int(),
    spark: sparkSchema,
  }),
  thresholds: z
    .object({ oldestWaitingSeconds: z.number(), failureRate: z.number() })
    .describe('limits above which a queue counts as late or failing: the strictest enabled rule'),
  queues: z.array(queueHealthSchema).describe(`those with problems first, at most ${MAX_HEALTH_QUEUES}`),
  others: queueOverviewSchema
    .pick({
      waiting: true,
      scheduled: true,
      running: true,
      suspended: true,
      blocked: true,
      throttled: true,
      oldestWaiting: true,
    })
    .extend({ queues: z.int().describe('how many') })
    .describe('all queues that are not listed, together'),
  delivery: queueOverviewSchema
    .pick({ waiting: true, oldestWaiting: true, paused: true, limit: true })
    .describe('the queue `oncue`, which sends alerts'),
  failures: z
    .array(failureGroupSchema.omit({ firstSeen: true, trend: true, sample: true }))
    .describe('the largest groups of retrying jobs and of those that gave up in the last hour, at most 5'),
  alerts: alertCountsSchema,
  questions: z.int().describe('open questions of jobs, which wait for an answer; counted up to 1,000'),
  bulkOperations: z
    .array(
      bulkOperationSchema.pick({
        id: true,
        action: true,
        status: true,
        total: true,
        totalIsExact: true,
        done: true,
        skipped: true,
        by: true,
      }),
    )
    .describe('those that have not ended, the newest first, at most 5'),
})
export type Health = z.output<typeof healthSchema>
