import { z } from 'zod'
import { jobIdSchema } from './id.ts'
import { LIMITS } from './limits.ts'
import { plainText } from './plain-text.ts'
import { actedFilterSchema, timeSchema } from './wire-jobs.ts'

export const OPERATION_ACTIONS = ['requeue', 'cancel', 'delete'] as const
const operationActionSchema = z.enum(OPERATION_ACTIONS)
export type OperationAction = z.output<typeof operationActionSchema>

export const previewRequestSchema = z.strictObject({
  action: operationActionSchema,
  filter: actedFilterSchema,
  asOf: timeSchema.optional().describe('default: now'),
})

/** What an operation would touch, so that "all" means what was seen. */
export const previewSchema = z.object({
  asOf: z.date().describe('to be sent with the operation'),
  count: z.int().describe('how many match; to be sent as expectedCount'),
  countIsExact: z.boolean().describe('false: there are at least so many'),
  byStatus: z.record(z.string(), z.int()).describe('of those looked at'),
  byError: z
    .array(z.object({ class: z.string(), message: z.string(), count: z.int() }))
    .describe('of those looked at, the most frequent first'),
  sample: z
    .array(z.object({ id: jobIdSchema, topic: z.string(), queue: z.string(), status: z.string() }))
    .describe('of those looked at, the newest'),
})

export const operationRequestSchema = z.strictObject({
  action: operationActionSchema,
  filter: actedFilterSchema,
  asOf: timeSchema.describe('jobs that match only later are left alone'),
  expectedCount: z
    .int()
    .min(0)
    .max(2_147_483_647)
    .describe('what the preview said; far from the truth: refused'),
  idempotencyKey: plainText(LIMITS.keyLength)
    .min(1)
    .describe('the same key again answers the operation it began'),
  spreadSeconds: z
    .int()
    .min(0)
    .max(86_400)
    .default(0)
    .describe('over how long to spread it, so that what comes back does not come at once'),
})

export const OPERATION_STATUSES = ['running', 'completed', 'stopped', 'failed'] as const

export const operationSchema = z.object({
  id: z.string(),
  action: operationActionSchema,
  filter: z.record(z.string(), z.unknown()),
  asOf: z.date(),
  spreadSeconds: z.int(),
  status: z.enum(OPERATION_STATUSES),
  total: z.int().describe('how many matched when it was asked for'),
  totalIsExact: z.boolean().describe('false: there are at least so many'),
  done: z.int(),
  skipped: z.record(z.string(), z.int()).describe('reason → how many'),
  error: z.object({ code: z.string(), message: z.string() }).nullable().describe('why it failed'),
  by: z.object({ id: z.string(), name: z.string() }),
  stoppedBy: z.string().nullable(),
  created: z.date(),
  updated: z.date(),
  finishedAt: z.date().nullable(),
})
export type Operation = z.output<typeof operationSchema>

export const operationIdSchema = z.strictObject({ id: z.uuid() })

export const listOperationsRequestSchema = z.strictObject({
  status: z.enum(OPERATION_STATUSES).optional(),
  limit: z.int().min(1).max(200).default(50),
  cursor: z.string().max(1_000).optional().describe('nextCursor of the page before'),
})

export const operationPageSchema = z.object({
  items: z.array(operationSchema).describe('newest first'),
  nextCursor: z.string().nullable(),
})

export const watchOperationRequestSchema = z.strictObject({
  id: z.uuid(),
  lastEventId: z.string().max(100).nullish(),
})
