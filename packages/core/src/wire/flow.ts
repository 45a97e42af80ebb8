import { z } from 'zod'
import { jobErrorSchema } from '../job/failure.ts'
import { jobIdSchema } from '../job/id.ts'
import { jobSchema } from '../job/job.ts'
import { LIMITS } from '../job/limits.ts'
import { clientItemSchema, enqueueRequestSchema, isRepeatSchema } from './enqueue.ts'
import { isSuspendedSchema } from './jobs.ts'

const requestId = clientItemSchema.shape.requestId

/** What waits for others can have no key: it may belong to a job that does not. */
const KEYS = { unique: true, idempotencyKey: true } as const

const batchFields = {
  jobs: z.array(enqueueRequestSchema).min(1).describe('at most 10,000, each as for an enqueue'),
  // biome-ignore lint/suspicious/noThenProperty: it is no function, so no promise takes it for one
  then: enqueueRequestSchema
    .omit({ ...KEYS, after: true })
    .optional()
    .describe('runs when all of the jobs have completed'),
  onFailure: enqueueRequestSchema
    .omit({ ...KEYS, after: true, onParentFailure: true })
    .optional()
    .describe('runs when all have ended and some have not completed; is cancelled when all have completed'),
}

export const plainBatchRequestSchema = z.strictObject(batchFields)

export const batchRequestSchema = z.strictObject({
  jobs: batchFields.jobs.element.extend({ requestId }).array().min(1),
  // biome-ignore lint/suspicious/noThenProperty: it is no function, so no promise takes it for one
  then: batchFields.then.unwrap().extend({ requestId }).optional(),
  onFailure: batchFields.onFailure.unwrap().extend({ requestId }).optional(),
  isRepeat: isRepeatSchema,
})

export const batchedSchema = z.object({
  ids: z.array(jobIdSchema).describe('in the order of the request'),
  thenId: jobIdSchema.nullable(),
  onFailureId: jobIdSchema.nullable(),
})
/** The ids of a batch, in the order of its jobs. */
export type Batched = Readonly<z.output<typeof batchedSchema>>

const nodeNameSchema = z.string().min(1).max(LIMITS.flowNameLength)

export const plainFlowRequestSchema = z.strictObject({
  nodes: z
    .record(nodeNameSchema, enqueueRequestSchema)
    .describe('by name, at most 1,000; each as for an enqueue'),
  edges: z
    .array(z.tuple([nodeNameSchema, nodeNameSchema]))
    .default([])
    .describe('pairs [from, to] of names: the second node starts when the first has completed'),
})

export const flowRequestSchema = plainFlowRequestSchema.extend({
  nodes: z.record(nodeNameSchema, enqueueRequestSchema.extend({ requestId })),
  isRepeat: isRepeatSchema,
})

export const flowedSchema = z.object({
  ids: z.record(z.string(), jobIdSchema).describe('by the name of the node'),
})

const treeJobSchema = jobSchema
  .pick({
    id: true,
    topic: true,
    queue: true,
    status: true,
    run: true,
    retries: true,
    maxRetries: true,
    depsLeft: true,
    waits: true,
    ending: true,
    runAt: true,
    created: true,
    startedAt: true,
    finishedAt: true,
    cancelAt: true,
  })
  .extend({
    name: z
      .string()
      .nullable()
      .describe('its node in a flow; of a batch: then, onFailure; null: it has none'),
    parentId: jobIdSchema.nullable().describe('the job that spawned it; it may be missing from the jobs'),
    after: z.array(jobIdSchema).describe('the jobs that it waits for or waited for, of those in the tree'),
    isSuspended: isSuspendedSchema,
    error: jobErrorSchema
      .pick({ class: true, message: true })
      .extend({ code: z.string().nullable() })
      .nullable(),
  })
export type TreeJob = Readonly<z.output<typeof treeJobSchema>>

/** A job with all jobs that it is connected to: by parents and children, batches, flows and `after`. */
export const jobTreeSchema = z.object({
  id: jobIdSchema,
  jobs: z.array(treeJobSchema).describe('up to 1,000, oldest first; those nearest to the job'),
  counts: z
    .object({
      undoing: z.int().describe('jobs that are being undone'),
      suspended: z.int(),
      blocked: z.int(),
      pending: z.int(),
      processing: z.int(),
      completed: z.int(),
      failed: z.int(),
      cancelled: z.int(),
    })
    .describe('of these jobs, each counted once'),
  isComplete: z.boolean().describe('false: there are more jobs'),
  childrenAreComplete: z
    .boolean()
    .describe(
      'false: too many jobs were made at that time to look at the parentId of each; spawned jobs and flows are always found',
    ),
})
export type JobTree = Readonly<z.output<typeof jobTreeSchema>>
