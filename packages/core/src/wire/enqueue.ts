import { z } from 'zod'
import { OncueError } from '../errors.ts'
import { enqueueOptionsSchema } from '../job/enqueue-options.ts'
import { jobIdSchema } from '../job/id.ts'
import { toInputError } from '../job/input-error.ts'
import { LIMITS } from '../job/limits.ts'
import { topicSchema } from '../job/names.ts'
import { errorResponseSchema } from './fields.ts'

/** How many jobs one call may name or contain. */
export const MAX_BATCH = 1_000

export const enqueueRequestSchema = z.strictObject({
  topic: topicSchema,
  payload: z.unknown().optional(),
  ...enqueueOptionsSchema.shape,
})

/** Set by the client: a request that is sent again, because its response was lost, makes no second job. */
const requestIdSchema = jobIdSchema.optional().describe('id of this request; the same when it is repeated')
export const isRepeatSchema = z
  .boolean()
  .optional()
  .describe('true: this request was sent before, and its response was lost')

export const enqueueCallSchema = enqueueRequestSchema.extend({
  requestId: requestIdSchema,
  isRepeat: isRepeatSchema,
})

export const enqueuedSchema = z.object({
  id: jobIdSchema,
  /** False: a job with the same key existed already, and this is its id. */
  created: z.boolean().describe('false: a job with the same key already existed, and this is its id'),
  /** True: that job was waiting, and now has the payload of this request. */
  replaced: z.boolean().describe('true: that job was waiting, and now has the payload of this request'),
})
export type Enqueued = z.output<typeof enqueuedSchema>

/** One job of several, which may wait for others of the same request before they have ids. */
export const enqueueItemSchema = enqueueRequestSchema.extend({
  afterItems: z
    .array(z.int().min(0))
    .max(LIMITS.parents)
    .optional()
    .describe('waits until these jobs of the same request have completed: indexes from 0; needs atomic'),
})
export const clientItemSchema = enqueueItemSchema.extend({ requestId: requestIdSchema })
export type EnqueueItem = z.input<typeof clientItemSchema>

export type CheckedItem = z.output<typeof clientItemSchema>

/** Each job of a request, or what is wrong with it: an invalid one does not make the whole request fail. */
export function readItems(
  items: readonly unknown[],
  schema: z.ZodType<CheckedItem>,
): (CheckedItem | OncueError)[] {
  // Too many are refused as a whole, without checking each.
  if (items.length > MAX_BATCH)
    throw new OncueError('BATCH_TOO_LARGE', `input.jobs has ${items.length} items, more than ${MAX_BATCH}`)
  return items.map((item, index) => {
    const parsed = schema.safeParse(item)
    return parsed.success ? parsed.data : toInputError(parsed.error, `input.jobs[${index}]`, item)
  })
}

export const enqueueManyRequestSchema = z.strictObject({
  jobs: z
    .array(z.custom<EnqueueItem>(() => true))
    .min(1)
    .transform((items) => readItems(items, clientItemSchema)),
  atomic: z.boolean().default(false).describe('true: all or none'),
  isRepeat: isRepeatSchema,
})

export const enqueueManyResponseSchema = z.object({
  stored: z.int(),
  refused: z.int(),
  results: z
    .array(z.union([enqueuedSchema, errorResponseSchema]))
    .describe('in the order of the request: the id, or the error'),
})
