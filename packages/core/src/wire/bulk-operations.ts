import { z } from 'zod'
import { jobSummarySchema } from '../job/job.ts'
import { LIMITS } from '../job/limits.ts'
import { idRequestSchema, lastEventIdSchema, pageOf, pageRequest, plainText, timeSchema } from './fields.ts'
import { actedFilterSchema, actionReportSchema } from './jobs.ts'

const bulkActionSchema = z.enum(['requeue', 'cancel', 'delete'])
export type BulkAction = z.output<typeof bulkActionSchema>

export const previewRequestSchema = z.strictObject({
  action: bulkActionSchema,
  filter: actedFilterSchema,
  asOf: timeSchema.optional().describe('default: now'),
})

/** What the matching jobs are: of those looked at, which are the newest. */
const foundJobsSchema = z.object({
  byStatus: z.record(z.string(), z.int()).describe('of those looked at'),
  byError: z
    .array(z.object({ class: z.string(), message: z.string(), count: z.int() }))
    .describe('of those looked at, the most frequent first'),
  sample: z
    .array(jobSummarySchema.pick({ id: true, topic: true, queue: true }).extend({ status: z.string() }))
    .describe('of those looked at, the newest'),
})
export type FoundJobs = Readonly<z.output<typeof foundJobsSchema>>

/** What a bulk operation would touch, so that "all" means what was seen. */
export const previewSchema = z.object({
  asOf: z.date().describe('to be sent with the operation'),
  count: z.int().describe('how many match; to be sent as expectedCount'),
  countIsExact: z.boolean().describe('false: there are at least so many'),
  ...foundJobsSchema.shape,
})

export const bulkOperationRequestSchema = z.strictObject({
  action: bulkActionSchema,
  filter: actedFilterSchema,
  asOf: timeSchema.describe('jobs that match only later are left alone'),
  expectedCount: z
    .int()
    .min(0)
    .max(2_147_483_647)
    .describe('what the preview said; far from the truth: refused'),
  idempotencyKey: plainText(LIMITS.keyLength)
    .min(1)
    .describe('the same key again returns the operation it began'),
  spreadSeconds: z
    .int()
    .min(0)
    .max(86_400)
    .default(0)
    .describe('over how long to spread it, so that what comes back does not come at once'),
})
export type BulkOperationRequest = Readonly<z.output<typeof bulkOperationRequestSchema>>

const bulkOperationStatusSchema = z.enum(['running', 'completed', 'stopped', 'failed'])
export type BulkOperationStatus = z.output<typeof bulkOperationStatusSchema>

export const bulkOperationSchema = z.object({
  id: z.string(),
  action: bulkActionSchema,
  filter: z.record(z.string(), z.unknown()),
  asOf: z.date(),
  spreadSeconds: z.int(),
  status: bulkOperationStatusSchema,
  total: z.int().describe('how many matched when it was asked for'),
  totalIsExact: z.boolean().describe('false: there are at least so many'),
  ...actionReportSchema.shape,
  error: z.object({ code: z.string(), message: z.string() }).nullable().describe('why it failed'),
  by: z.object({ id: z.string(), name: z.string() }),
  stoppedBy: z.string().nullable(),
  created: z.date(),
  updated: z.date(),
  finishedAt: z.date().nullable(),
})
export type BulkOperation = Readonly<z.output<typeof bulkOperationSchema>>

export const listBulkOperationsRequestSchema = z.strictObject({
  status: bulkOperationStatusSchema.optional(),
  ...pageRequest(200),
})

export const bulkOperationPageSchema = pageOf(bulkOperationSchema)

export const watchBulkOperationRequestSchema = idRequestSchema.extend({ lastEventId: lastEventIdSchema })
