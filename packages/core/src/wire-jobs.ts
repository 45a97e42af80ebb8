import { z } from 'zod'
import { jobErrorSchema } from './failure.ts'
import { jobIdSchema } from './id.ts'
import { jobSchema, jobStatusSchema, jobSummarySchema } from './job.ts'
import { LIMITS } from './limits.ts'
import { queueSchema, topicSchema } from './names.ts'
import { plainText } from './plain-text.ts'
import { asRest, enqueueRequestSchema, errorResponseSchema } from './wire.ts'

/** How many jobs one call may name or bring. */
export const MAX_BATCH = 1_000

export const enqueuedSchema = z.object({
  id: jobIdSchema,
  created: z.boolean().describe('false: a job with the same key was there already, and this is its id'),
  replaced: z.boolean().describe('true: that job waited, and has the payload of this request now'),
})
export type Enqueued = z.output<typeof enqueuedSchema>

/** A job among others, which it may wait for although nobody knows their ids yet. */
export const enqueueItemSchema = enqueueRequestSchema.extend({
  afterItems: z
    .array(z.int().min(0))
    .max(LIMITS.parents)
    .optional()
    .describe('waits until these jobs of the same request have completed, counted from 0; needs atomic'),
})
export type EnqueueItem = z.input<typeof enqueueItemSchema>
export const restEnqueueItemSchema = asRest(enqueueItemSchema)

/** Items are checked one by one, so that one that is wrong does not take the others with it. */
export const enqueueManyRequestSchema = z.strictObject({
  jobs: z.array(z.custom<EnqueueItem>(() => true)).min(1),
  atomic: z.boolean().default(false).describe('true: all of them or none'),
})

export const enqueueManyResponseSchema = z.object({
  stored: z.int(),
  refused: z.int(),
  results: z
    .array(z.union([enqueuedSchema, errorResponseSchema]))
    .describe('in the order of the request: the id, or what was wrong'),
})

export const timeSchema = z.date().min(new Date(LIMITS.dateMin)).max(new Date(LIMITS.dateMax))

/** Each is a condition of the statement, and thousands of them would take minutes to put together. */
const MAX_META_KEYS = 20

/** Which jobs. The store knows what can be combined. */
export const jobFilterSchema = z.strictObject({
  status: jobStatusSchema.optional(),
  queue: queueSchema.optional(),
  topic: topicSchema.optional(),
  meta: z
    .record(plainText(255), z.union([plainText(LIMITS.metaBytes), z.number(), z.boolean()]))
    .refine((meta) => Object.keys(meta).length <= MAX_META_KEYS, {
      error: `must name at most ${MAX_META_KEYS} keys`,
    })
    .optional(),
  fingerprint: plainText(255).optional(),
  createdFrom: timeSchema.optional(),
  createdTo: timeSchema.optional(),
  idPrefix: z.string().max(36).optional(),
  payloadText: plainText(1_000).optional().describe('text within the payload; needs createdFrom'),
})

export const listJobsRequestSchema = z.strictObject({
  ...jobFilterSchema.shape,
  limit: z.int().min(1).max(1_000).default(50),
  offset: z.int().min(0).optional(),
  cursor: z.string().max(1_000).optional().describe('nextCursor of the page before; instead of offset'),
})

export const jobPageSchema = z.object({
  items: z.array(jobSummarySchema),
  total: z.int(),
  totalIsExact: z.boolean().describe('false: there are at least so many'),
  nextCursor: z.string().nullable(),
  limit: z.int(),
  offset: z.int(),
})

export const jobEventSchema = z.object({
  jobId: jobIdSchema,
  version: z.int(),
  type: z.string(),
  data: z.unknown(),
  created: z.date(),
})

const maskedSchema = z.array(z.string()).describe('paths of the values that only admins see')

export const jobDetailsSchema = jobSchema.extend({ events: z.array(jobEventSchema), masked: maskedSchema })

export const jobEventsRequestSchema = z.strictObject({
  id: jobIdSchema,
  afterVersion: z.int().min(0).default(0),
  limit: z.int().min(1).max(1_000).default(100),
})

export const jobEventsSchema = z.object({ events: z.array(jobEventSchema), masked: maskedSchema })

/** A filter that says something. What is empty was hardly meant to be: a variable that was not set. */
export const actedFilterSchema = jobFilterSchema
  .refine((filter) => Object.values(filter).some((value) => value !== undefined), {
    error: 'must name at least one condition: an empty filter would mean every job there is',
  })
  .superRefine((filter, { addIssue }) => {
    for (const name of ['meta', 'fingerprint', 'idPrefix', 'payloadText'] as const) {
      const { [name]: value } = filter
      const isEmpty =
        typeof value === 'string' ? value.trim() === '' : value && Object.keys(value).length === 0
      if (isEmpty) addIssue({ code: 'custom', path: [name], message: 'is empty, which would mean every job' })
    }
  })

/** Jobs to act on: by their ids, or by a filter. */
export const jobTargetSchema = z.union([
  z.strictObject({ ids: z.array(jobIdSchema).min(1) }),
  z.strictObject({
    filter: actedFilterSchema,
    asOf: timeSchema.optional().describe('leave alone what matches only later; default: now'),
  }),
])
export type JobTarget = z.output<typeof jobTargetSchema>

export const actionReportSchema = z.object({
  done: z.int(),
  skipped: z.record(z.string(), z.int()).describe('reason → how many'),
})

export const jobStatsRequestSchema = z.strictObject({
  queue: queueSchema.optional(),
  topic: topicSchema.optional(),
})

const countSchema = z.int()

export const jobStatsSchema = z.object({
  blocked: countSchema,
  pending: countSchema,
  processing: countSchema,
  completed: countSchema,
  failed: countSchema,
  cancelled: countSchema,
  successRate: z.number().describe('completed / (completed + failed), from 0 to 1; 1 before the first end'),
  averageRunMs: z.number(),
})

export const failuresRequestSchema = z.strictObject({
  ...jobStatsRequestSchema.shape,
  since: timeSchema.optional().describe('the last 24 hours'),
  newSince: timeSchema.optional().describe('from when on a group counts as new; the last hour'),
  fingerprint: plainText(255).optional().describe('this group alone'),
  limit: z.int().min(1).max(1_000).default(50),
})

/** Parts of a group's trend. */
export const TREND_PARTS = 24

export const failureGroupSchema = z.object({
  fingerprint: z.string(),
  count: countSchema,
  firstSeen: z.date(),
  lastSeen: z.date(),
  topics: z.array(z.string()),
  queues: z.array(z.string()),
  isNew: z.boolean().describe('nothing kept failed like this before `newSince`'),
  trend: z
    .array(z.int())
    .length(TREND_PARTS)
    .describe('how many failed in each equal part of the time from `since` to now'),
  sample: z.object({ jobId: jobIdSchema, error: jobErrorSchema.nullable() }).describe('the latest'),
})

const DAY_MS = 86_400_000

/** So that a chart gets as many points as it can show. */
export const stepMinutesSchema = z
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
    stepMinutes: stepMinutesSchema,
  })
  .refine(({ from, to }) => to.getTime() - from.getTime() <= 90 * DAY_MS, {
    path: ['from'],
    error: 'lies more than 90 days before `to`',
  })

const percentilesSchema = z.object({
  p50: z.number().nullable(),
  p95: z.number().nullable(),
  p99: z.number().nullable(),
})

export const seriesPointSchema = z.object({
  minute: z.date().describe('the first of the step'),
  completed: countSchema,
  failed: countSchema,
  cancelled: countSchema,
  retried: countSchema.describe('runs that failed while their jobs go on'),
  wait: percentilesSchema.describe('milliseconds from due to start'),
  run: percentilesSchema.describe('milliseconds from start to end'),
})

/** What changes while one watches a job. */
export const jobStateSchema = jobSchema.pick({
  id: true,
  status: true,
  run: true,
  progress: true,
  updated: true,
})

export const watchRequestSchema = z.strictObject({
  id: jobIdSchema,
  lastEventId: z.string().max(100).nullish().describe('id of the last message; set when a client comes back'),
  events: z.boolean().default(true).describe('false: its states alone'),
})

export const watchMessageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('event'), event: jobEventSchema }),
  z.object({ type: z.literal('state'), state: jobStateSchema }),
])
export type WatchMessage = z.output<typeof watchMessageSchema>

export const waitRequestSchema = z.strictObject({
  id: jobIdSchema,
  timeoutMs: z.int().min(0).max(30_000).default(30_000).describe('how long this call may take'),
})

export const waitResponseSchema = z.discriminatedUnion('finished', [
  z.object({ finished: z.literal(false), status: jobStatusSchema, progress: z.unknown() }),
  z.object({
    finished: z.literal(true),
    topic: z.string(),
    status: z.enum(['completed', 'failed', 'cancelled']),
    result: z.unknown(),
    error: jobErrorSchema.nullable(),
    masked: maskedSchema,
  }),
])
