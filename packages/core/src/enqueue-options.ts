import { z } from 'zod'
import { jobIdSchema } from './id.ts'
import { LIMITS } from './limits.ts'
import { queueSchema } from './names.ts'
import { retryOptionsSchema } from './retry.ts'

const prioritySchema = z.int().min(LIMITS.priorityMin).max(LIMITS.priorityMax).describe('higher runs first')

const timeoutSchema = z.int().min(1).max(LIMITS.timeoutMs).describe('milliseconds a run may take')

const retrySchema = z.union([z.literal(false), retryOptionsSchema]).describe('false: never retry')

/** What the definition of a job may set for all its jobs. */
export const jobDefaultsSchema = z.strictObject({
  queue: queueSchema.optional(),
  priority: prioritySchema.optional(),
  retry: retrySchema.optional(),
  timeoutMs: timeoutSchema.optional(),
})

const DATE_RULE = { error: 'must be between 1970-01-01 and 9999-12-31' }
const keySchema = z.string().min(1).max(LIMITS.keyLength)

export const PARENT_FAILURE_POLICIES = ['wait', 'stop', 'go_on', 'cancel'] as const
/** Stay blocked until the parent is requeued · fail too · run anyway · be cancelled too. */
export type ParentFailurePolicy = (typeof PARENT_FAILURE_POLICIES)[number]

const ON_CONFLICT = ['existing', 'replace', 'reject'] as const
/** Answer the id of the job that is there · give it the new payload while it waits · refuse with UNIQUE_KEY_LIVE. */
export type OnConflict = (typeof ON_CONFLICT)[number]

const uniqueSchema = z.strictObject({
  key: keySchema,
  within: z
    .int()
    .min(1)
    .max(LIMITS.delayMs)
    .optional()
    .describe('milliseconds, finished jobs included; without it: while the job is live'),
  onConflict: z.enum(ON_CONFLICT).optional().describe('existing'),
})

/** What a caller may say about one job, beside topic and payload. An unknown key is a typing error. */
export const enqueueOptionsSchema = z.strictObject({
  ...jobDefaultsSchema.shape,
  runAt: z
    .date()
    .min(new Date(LIMITS.dateMin), DATE_RULE)
    .max(new Date(LIMITS.dateMax), DATE_RULE)
    .optional()
    .describe('not before this moment'),
  delay: z.int().min(0).max(LIMITS.delayMs).optional().describe('milliseconds from now; instead of runAt'),
  maxRetries: z.int().min(0).max(LIMITS.maxRetries).optional().describe('instead of retry.max'),
  unique: uniqueSchema.optional().describe('at most one such job'),
  idempotencyKey: keySchema.optional().describe('a repeated call within a day answers the id of the first'),
  concurrencyKey: keySchema.optional().describe('jobs that share it share a limit'),
  concurrencyLimit: z
    .int()
    .min(1)
    .max(LIMITS.concurrencyLimit)
    .optional()
    .describe('how many of them run at once; 1'),
  after: z.array(jobIdSchema).max(LIMITS.parents).optional().describe('waits until these have completed'),
  onParentFailure: z
    .enum(PARENT_FAILURE_POLICIES)
    .optional()
    .describe('when one of them does not complete; wait'),
  parentId: jobIdSchema.optional(),
  trace: z.string().max(LIMITS.traceLength).optional().describe('W3C traceparent'),
  meta: z.record(z.string(), z.unknown()).optional().describe('what lists can be filtered by'),
})
export type EnqueueOptions = z.input<typeof enqueueOptionsSchema>
