import { z } from 'zod'
import { jobErrorSchema } from '../job/failure.ts'
import { jobIdSchema } from '../job/id.ts'
import { queueSchema, topicSchema } from '../job/names.ts'
import { plainText, timeSchema } from './fields.ts'

const DAY_MS = 86_400_000

const countSchema = z.int()

export const jobStatsRequestSchema = z.strictObject({
  /** Only this queue. */
  queue: queueSchema.optional(),
  /** Only this topic. */
  topic: topicSchema.optional(),
})

export const jobStatsSchema = z.object({
  blocked: countSchema.describe('waiting for other jobs'),
  pending: countSchema.describe('waiting, scheduled and retrying jobs'),
  waiting: countSchema.describe('pending jobs that are due'),
  scheduled: countSchema.describe('pending jobs that are due later'),
  retrying: countSchema.describe('pending jobs that run again because a run failed'),
  suspended: countSchema.describe(
    'jobs whose handler waits for a signal, a time, an answer or children; neither pending nor blocked',
  ),
  processing: countSchema,
  completed: countSchema,
  failed: countSchema,
  cancelled: countSchema,
  /** completed / (completed + failed), from 0 to 1; 1 before the first end. */
  successRate: z
    .number()
    .describe('completed / (completed + failed), from 0 to 1; 1 before the first job has finished'),
  averageRunMs: z.number(),
})
export type JobStats = Readonly<z.output<typeof jobStatsSchema>>

export const failuresRequestSchema = jobStatsRequestSchema.extend({
  /** Jobs that gave up since. Default: the last 24 hours. Retrying jobs count however long ago their run failed. */
  since: timeSchema.optional().describe('counts jobs that gave up since; default: 24 hours ago'),
  /** From when on a group counts as new. Default: the last hour. */
  newSince: timeSchema.optional().describe('a group first seen after this is new; default: an hour ago'),
  /** Only this group. */
  fingerprint: plainText(255).optional().describe('only this group'),
  /** Part of the class or the message of the error, ignoring case. */
  text: plainText(255).min(1).optional().describe('part of the class or the message, in any case'),
  /** `latest`: the group seen last comes first; `largest`: the one with the most jobs. Default: `latest`. */
  sort: z
    .enum(['latest', 'largest'])
    .optional()
    .describe(
      'latest: the group seen last comes first; largest: the one with the most jobs. Default: latest',
    ),
  /** 1 to 1,000. Default: 50. */
  limit: z.int().min(1).max(1_000).default(50),
})
export type FailuresRequest = Readonly<z.input<typeof failuresRequestSchema>>

/** Parts of a group's trend. */
export const TREND_PARTS = 24

/** Jobs whose last run failed, with the same fingerprint. */
export const failureGroupSchema = z.object({
  fingerprint: z.string(),
  class: z.string().describe('of the error of the sample; empty: no error was stored'),
  message: z.string().describe('of the error of the sample'),
  /** Live jobs: they wait for their next run, or run again. Without those that are being undone. */
  retrying: countSchema.describe('live jobs whose last run failed: they wait for the next one, or run again'),
  /** Of the 100 of each queue and topic that are due first and last: they have failed, and their undos run or are to run. */
  undoing: countSchema.describe(
    'live jobs that failed so and are being undone, which are not retrying; exact up to 100 live jobs in a queue and topic',
  ),
  retryingIsExact: z.boolean().describe('false: at least so many are retrying'),
  /** Ended within the requested time. */
  failed: countSchema.describe('jobs that gave up since `since`'),
  /** The earliest of the retrying jobs; null: none waits for a later time. */
  nextTryAt: z.date().nullable().describe('when the next of them is due; null: none waits for a later time'),
  firstSeen: z.date(),
  lastSeen: z.date(),
  topics: z.array(z.string()),
  queues: z.array(z.string()),
  /** No stored job failed like this before `newSince`, in any queue. */
  isNew: z.boolean().describe('no stored job failed like this before `newSince`'),
  /** How many gave up in each of TREND_PARTS equal parts of the time from `since` to now; in the last one, retrying jobs too. */
  trend: z
    .array(z.int())
    .length(TREND_PARTS)
    .describe(
      'jobs that gave up in each of the equal parts of the time from `since` to now; retrying ones count in the last',
    ),
  /** The latest of them. */
  sample: z
    .object({ jobId: jobIdSchema, error: jobErrorSchema.nullable() })
    .describe('the job that failed last'),
})
export type FailureGroup = Readonly<z.output<typeof failureGroupSchema>>

/** So that a chart gets as many points as it can show. */
const stepMinutesSchema = z
  .int()
  .min(1)
  .max(1_440)
  .default(1)
  .describe('minutes per point; each point begins at a multiple of it')

const isInOrder = ({ from, to }: { readonly from: Date; readonly to: Date }) => from <= to
const NOT_IN_ORDER = { path: ['from'], error: 'must not be after `to`' }

export const seriesRequestSchema = z
  .strictObject({
    ...jobStatsRequestSchema.shape,
    /** The first point begins here. */
    from: timeSchema,
    /** The last point ends before this moment. */
    to: timeSchema,
    /** How many minutes make a point, 1 to 1,440; each begins at a multiple of it. Default: 1. */
    stepMinutes: stepMinutesSchema,
  })
  .refine(({ from, to }) => to.getTime() - from.getTime() <= 90 * DAY_MS, {
    path: ['from'],
    error: 'must be at most 90 days before `to`',
  })
  .refine(isInOrder, NOT_IN_ORDER)
export type SeriesRequest = Readonly<z.input<typeof seriesRequestSchema>>

/** In milliseconds; null when nothing ran. Interpolated within a bucket whose upper end is 41% above its lower one. */
const percentilesSchema = z.object({
  p50: z.number().nullable(),
  p95: z.number().nullable(),
  p99: z.number().nullable(),
})
export type Percentiles = Readonly<z.output<typeof percentilesSchema>>

export const seriesPointSchema = z.object({
  /** The first of the step. */
  minute: z.date().describe('the first minute of the step'),
  completed: countSchema,
  failed: countSchema,
  cancelled: countSchema,
  /** Failed runs of jobs that will be run again. */
  retried: countSchema.describe('failed runs whose jobs were retried'),
  /** Milliseconds from due to start. */
  wait: percentilesSchema.describe('milliseconds from due to start'),
  /** Milliseconds from start to end. */
  run: percentilesSchema.describe('milliseconds from start to end'),
})
export type SeriesPoint = Readonly<z.output<typeof seriesPointSchema>>

export const gaugesRequestSchema = z
  .strictObject({
    queue: queueSchema.optional().describe('default: all queues together'),
    from: timeSchema,
    to: timeSchema,
    stepMinutes: stepMinutesSchema,
  })
  .refine(isInOrder, NOT_IN_ORDER)

/** How many jobs of a queue, or of all queues together, waited and ran. */
const gaugeSchema = z.object({
  waiting: z.int(),
  running: z.int(),
  /** How long the job that waited longest could have run. */
  oldestMs: z.int().describe('how long the oldest waiting job had been due'),
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
    .describe('workers alive that serve the queue, if one is given; null: unknown, the queue was empty'),
  slots: gaugeSchema.shape.slots.nullable().describe('how many jobs they could run at once'),
})
export type GaugePoint = Readonly<z.output<typeof gaugePointSchema>>
