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
  uniqueKey: keySchema.optional(),
  concurrencyKey: keySchema.optional(),
  parentId: jobIdSchema.optional(),
  trace: z.string().max(LIMITS.traceLength).optional().describe('W3C traceparent'),
  meta: z.record(z.string(), z.unknown()).optional().describe('what lists can be filtered by'),
})
export type EnqueueOptions = z.input<typeof enqueueOptionsSchema>
