import { z } from 'zod'
import { jobErrorSchema } from '../job/failure.ts'
import { jobIdSchema } from '../job/id.ts'
import { queueSchema, topicSchema } from '../job/names.ts'
import { plainText, timeSchema } from './fields.ts'

const DAY_MS = 86_400_000

const countSchema = z.int()

export const jobStatsRequestSchema = z.strictObject({
  queue: queueSchema.optional(),
  topic: topicSchema.optional(),
})

export const jobStatsSchema = z.object({
  blocked: countSchema,
  pending: countSchema,
  processing: countSchema,
  completed: countSchema,
  failed: countSchema,
  cancelled: countSchema,
  /** completed / (completed + failed), from 0 to 1; 1 before the first end. */
  successRate: z.number().describe('completed / (completed + failed), from 0 to 1; 1 before the first end'),
  averageRunMs: z.number(),
})
export type JobStats = Readonly<z.output<typeof jobStatsSchema>>

export const failuresRequestSchema = jobStatsRequestSchema.extend({
  /** Failed since. Default: the last 24 hours. */
  since: timeSchema.optional().describe('the last 24 hours'),
  /** From when on a group counts as new. Default: the last hour. */
  newSince: timeSchema.optional().describe('from when on a group counts as new; the last hour'),
  fingerprint: plainText(255).optional().describe('this group alone'),
  /** 1 to 1 000. Default: 50. */
  limit: z.int().min(1).max(1_000).default(50),
})
export type FailuresRequest = Readonly<z.input<typeof failuresRequestSchema>>

/** Parts of a group's trend. */
export const TREND_PARTS = 24

/** Failed jobs with the same fingerprint. */
export const failureGroupSchema = z.object({
  fingerprint: z.string(),
  count: countSchema,
  firstSeen: z.date(),
  lastSeen: z.date(),
  topics: z.array(z.string()),
  queues: z.array(z.string()),
  /** No job that is kept failed like this before `newSince`, in whatever queue. */
  isNew: z.boolean().describe('nothing kept failed like this before `newSince`'),
  /** How many failed in each of TREND_PARTS equal parts of the time from `since` to now. */
  trend: z
    .array(z.int())
    .length(TREND_PARTS)
    .describe('how many failed in each equal part of the time from `since` to now'),
  /** The latest of them. */
  sample: z.object({ jobId: jobIdSchema, error: jobErrorSchema.nullable() }).describe('the latest'),
})
export type FailureGroup = Readonly<z.output<typeof failureGroupSchema>>

/** So that a chart gets as many points as it can show. */
const stepMinutesSchema = z
  .int()
  .min(1)
  .max(1_440)
  .default(1)
  .describe('how many minutes make a point; each begins at a multiple of it')

export const seriesRequestSchema = z
  .strictObject({
    ...jobStatsRequestSchema.shape,
    from: timeSchema,
    to: timeSchema,
    /** How many minutes make a point, 1 to 1 440; each begins at a multiple of it. Default: 1. */
    stepMinutes: stepMinutesSchema,
  })
  .refine(({ from, to }) => to.getTime() - from.getTime() <= 90 * DAY_MS, {
    path: ['from'],
    error: 'lies more than 90 days before `to`',
  })
export type SeriesRequest = Readonly<z.input<typeof seriesRequestSchema>>

/** Null when nothing ran. Each is the upper end of its bucket: at most 41% too high. */
const percentilesSchema = z.object({
  p50: z.number().nullable(),
  p95: z.number().nullable(),
  p99: z.number().nullable(),
})
export type Percentiles = Readonly<z.output<typeof percentilesSchema>>

export const seriesPointSchema = z.object({
  /** The first of the step. */
  minute: z.date().describe('the first of the step'),
  completed: countSchema,
  failed: countSchema,
  cancelled: countSchema,
  /** Failed runs of jobs that will be run again. */
  retried: countSchema.describe('runs that failed while their jobs go on'),
  /** Milliseconds from due to start. */
  wait: percentilesSchema.describe('milliseconds from due to start'),
  /** Milliseconds from start to end. */
  run: percentilesSchema.describe('milliseconds from start to end'),
})
export type SeriesPoint = Readonly<z.output<typeof seriesPointSchema>>

export const gaugesRequestSchema = z.strictObject({
  queue: queueSchema.optional().describe('all of them together when absent'),
  from: timeSchema,
  to: timeSchema,
  stepMinutes: stepMinutesSchema,
})

/** How full a queue was, or all of them together. */
const gaugeSchema = z.object({
  waiting: z.int(),
  running: z.int(),
  /** How long the job that waited longest could have run. */
  oldestMs: z.int().describe('for how long the job that waited longest could have run'),
  /** Workers that serve it. */
  workers: z.int(),
  /** How many jobs these can run at once. */
  slots: z.int(),
})
export type Gauge = Readonly<z.output<typeof gaugeSchema>>

/** The worst minute of a step: the longest wait, the largest backlog, the fewest workers. */
export const gaugePointSchema = z.object({
  minute: z.date().describe('the first minute of the step; minutes without a sample are left out'),
  ...gaugeSchema.shape,
  workers: gaugeSchema.shape.workers
    .nullable()
    .describe('alive, and serving the queue if one is named; null: not known, the queue was empty'),
  slots: gaugeSchema.shape.slots.nullable().describe('how many jobs they could run at once'),
})
export type GaugePoint = Readonly<z.output<typeof gaugePointSchema>>
