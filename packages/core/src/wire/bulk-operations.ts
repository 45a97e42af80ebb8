import { z } from 'zod'
import { jobSummarySchema } from '../job/job.ts'
import { LIMITS } from '../job/limits.ts'
import { idRequestSchema, lastEventIdSchema, pageOf, pageRequest, plainText, timeSchema } from './fields.ts'
import { actedFilterSchema, actionReportSchema } from './jobs.ts'

const bulkActionSchema = z.enum(['requeue', 'run_now', 'cancel', 'delete'])
export type BulkAction = z.output<typeof bulkActionSchema>

export const previewRequestSchema = z.strictObject({
  action: bulkActionSchema,
  filter: actedFilterSchema,
  asOf: timeSchema.optional().describe('default: now'),
})

/** What the matching jobs are: a summary of the newest ones. */
const foundJobsSchema = z.object({
  byStatus: z
    .record(z.string(), z.int())
    .describe(
      'of the inspected jobs; suspended ones and those that are being undone count as `suspended` and `undoing`',
    ),
  byError: z
    .array(z.object({ class: z.string(), message: z.string(), count: z.int() }))
    .describe(
      'of the inspected jobs, one for each fingerprint with the message of the newest job; the most frequent first, at most 20',
    ),
  errorKinds: z.int().describe('how many different errors the inspected jobs have'),
  inspected: z.int().describe('how many jobs were inspected: the newest, at most 2,000'),
  sample: z
    .array(jobSummarySchema.pick({ id: true, topic: true, queue: true }).extend({ status: z.string() }))
    .describe('the newest of the inspected jobs'),
})
export type FoundJobs = Readonly<z.output<typeof foundJobsSchema>>

/** What a bulk operation would touch, so that "all" means what the caller has seen. */
export const previewSchema = z.object({
  asOf: z.date().describe('send it with the bulk operation'),
  count: z.int().describe('how many match; send it as expectedCount'),
  countIsExact: z.boolean().describe('false: there are at least this many'),
  ...foundJobsSchema.shape,
})

const canarySchema = z.strictObject({
  /** How many jobs to do first: 1 to 500. */
  count: z.int().min(1).max(500).describe('how many jobs to do first'),
  /** How many of them may fail again. Default: 0. */
  maxFailed: z.int().min(0).max(499).default(0).describe('how many of them may fail again'),
})

export const bulkOperationRequestSchema = z.strictObject({
  /** What to do with the jobs. */
  action: bulkActionSchema,
  /** Which jobs. */
  filter: actedFilterSchema,
  /** Jobs that match later are skipped. */
  asOf: timeSchema.describe('jobs that match later are left alone'),
  expectedCount: z
    .int()
    .min(0)
    .max(2_147_483_647)
    .describe('the count of the preview; rejected if it differs by much'),
  /** A repeated key returns the bulk operation that it started. */
  idempotencyKey: plainText(LIMITS.keyLength)
    .min(1)
    .describe('a repeated key returns the bulk operation it started'),
  spreadSeconds: z
    .int()
    .min(0)
    .max(86_400)
    .default(0)
    .describe('seconds over which to spread the jobs, so that they do not all run at once'),
  /** Does a few jobs first, and the others automatically when those complete. */
  canary: canarySchema
    .optional()
    .describe('do these first: go on by itself when they complete, stop when more than maxFailed fail again'),
  /** A share from 0 to 1: stops automatically when more of its jobs fail again, of at least ten. */
  stopWhenFailing: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('stop by itself when more than this share of its jobs fails again; of at least ten'),
})
export type BulkOperationRequest = Readonly<z.output<typeof bulkOperationRequestSchema>>

const bulkOperationStatusSchema = z.enum(['canary', 'running', 'completed', 'stopped', 'failed'])
export type BulkOperationStatus = z.output<typeof bulkOperationStatusSchema>

/** The outcomes of the jobs that were requeued or made due. */
const outcomesSchema = z.object({
  completed: z.int(),
  running: z.int(),
  waiting: z.int(),
  failedAgain: z.int().describe('also those that are retried after it'),
  cancelled: z.int().describe('cancelled, or no longer there'),
})

export const bulkOperationSchema = z.object({
  id: z.string(),
  action: bulkActionSchema,
  filter: z.record(z.string(), z.unknown()),
  filterError: z
    .object({ class: z.string(), message: z.string() })
    .nullable()
    .describe(
      'the error of the fingerprint that `filter` names, as its newest job had it at the start; null: it names none, or none was found',
    ),
  asOf: z.date(),
  spreadSeconds: z.int(),
  status: bulkOperationStatusSchema.describe('canary: its first jobs are tried, and the others wait'),
  canary: canarySchema.nullable(),
  stopWhenFailing: z.number().nullable(),
  outcomes: outcomesSchema.nullable().describe('what became of the jobs; null for cancel and delete'),
  total: z.int().describe('how many matched at the start'),
  totalIsExact: z.boolean().describe('false: there are at least this many'),
  ...actionReportSchema.shape,
  error: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .describe('why it failed, or stopped by itself'),
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

export const watchBulkOperationRequestSchema = idRequestSchema.extend({
  lastEventId: lastEventIdSchema,
  outcomes: z.boolean().default(false).describe('true: go on until none of its jobs is running or waiting'),
})
