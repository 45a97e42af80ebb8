import { toInputError } from '@oncue/core/internal'
import {
  alertSchema,
  type enqueueManyRequestSchema,
  type enqueueManyResponseSchema,
  errorResponseSchema,
  getJobResponseSchema,
  isoDateSchema,
  jobEventSchema,
  jobSchema,
  jobSummarySchema,
  listAlertsRequestSchema,
  listJobsRequestSchema,
  MAX_BATCH,
  restEnqueueItemSchema,
  signedInSchema,
  toRest,
} from '@oncue/core/wire'
import { z } from 'zod'

/** Its dates become texts when it is written as JSON. */
const restObject = (schema: z.ZodObject) => z.object(toRest(schema.shape) as Record<string, z.ZodType>)

const { id, topic, status, runAt, created } = jobSchema.shape

export const restTicketSchema = z
  .object({ id, topic, status, run_at: runAt, created })
  .describe('a job in short')

export const restEnqueuedSchema = restTicketSchema.extend({
  is_new: z.boolean().describe('false: a job with the same key was there already, and this is it'),
  replaced: z.boolean().describe('true: that job waited, and has the payload of this request now'),
})

export const restJobSchema = restObject(getJobResponseSchema).extend({
  events: z.array(restObject(jobEventSchema)).describe('the first of them'),
})

export const restJobPageSchema = z.object({
  items: z.array(restObject(jobSummarySchema)),
  total: z.int(),
  total_is_exact: z.boolean().describe('false: there are at least so many'),
  limit: z.int(),
  offset: z.int(),
  next_cursor: z.string().nullable().describe('for `cursor`; null: this is the last page'),
})

export function toRestDetails({
  events,
  ...job
}: z.output<typeof getJobResponseSchema>): Record<string, unknown> {
  return { ...toRest(job), events: events.map(toRest) }
}

/** Items are checked one by one, so that one that is wrong does not take the others with it. */
export const restBatchSchema = z
  .strictObject({
    jobs: z
      .array(z.unknown())
      .min(1)
      .describe(
        'each as in POST /api/jobs/enqueue; at most 1000. With atomic, `afterItems` of one names others of them by ' +
          'their places, counted from 0, and it waits until those have completed',
      ),
    atomic: z.boolean().default(false).describe('true: all of them or none'),
  })
  .transform(({ jobs, atomic }) => {
    // Too many are refused as a whole: then it is not worth looking at each.
    const items = jobs.length > MAX_BATCH ? jobs : jobs.map(toBatchItem)
    return { jobs: items, atomic } as z.output<typeof enqueueManyRequestSchema>
  })

function toBatchItem(item: unknown, index: number): unknown {
  const parsed = restEnqueueItemSchema.safeParse(item)
  return parsed.success ? parsed.data : toInputError(parsed.error, `input.jobs[${index}]`, item)
}

export const restBatchReportSchema = z.object({
  stored: z.int(),
  refused: z.int(),
  results: z
    .array(
      z.union([restEnqueuedSchema.pick({ id: true, is_new: true, replaced: true }), errorResponseSchema]),
    )
    .describe('in the order of the request: the id, or what was wrong'),
})

export function toBatchReport({
  results,
  ...counts
}: z.output<typeof enqueueManyResponseSchema>): z.input<typeof restBatchReportSchema> {
  return {
    ...counts,
    results: results.map((item) => {
      if ('error' in item) return item
      const { id, created, replaced } = item
      return { id, is_new: created, replaced }
    }),
  }
}

/** Digits alone: `Number` would take '', '0x10' and '1e9' too. */
const wholeNumber = (range: z.ZodType<number, number>) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(range)
    .optional()

const listFields = listJobsRequestSchema.shape

export const listQuery = {
  topic: listFields.topic,
  status: listFields.status,
  queue: listFields.queue,
  created_from: isoDateSchema.pipe(listFields.createdFrom.unwrap()).optional(),
  created_to: isoDateSchema.pipe(listFields.createdTo.unwrap()).optional(),
  fingerprint: listFields.fingerprint,
  id_prefix: listFields.idPrefix,
  payload_text: listFields.payloadText.describe('text within the payload; needs created_from'),
  meta: listFields.meta,
  limit: wholeNumber(listFields.limit.unwrap()).describe('how many; 50'),
  offset: wholeNumber(listFields.offset.unwrap()),
  cursor: listFields.cursor.describe('next_cursor of the page before; instead of offset'),
}

export function toListInput(fields: Record<string, unknown>): Record<string, unknown> {
  const { created_from, created_to, id_prefix, payload_text, ...same } = fields
  const renamed = {
    createdFrom: created_from,
    createdTo: created_to,
    idPrefix: id_prefix,
    payloadText: payload_text,
  }
  return { ...same, ...renamed }
}

export const restAlertSchema = restObject(alertSchema)

export const restAlertPageSchema = z.object({
  items: z.array(restAlertSchema),
  next_cursor: z.string().nullable().describe('for `cursor`; null: this is the last page'),
})

const { state, queue: alertQueue, limit: alertLimit, cursor: alertCursor } = listAlertsRequestSchema.shape

export const alertQuery = {
  state,
  queue: alertQueue,
  limit: wholeNumber(alertLimit.unwrap()).describe('how many; 50'),
  cursor: alertCursor.describe('next_cursor of the page before'),
}

export const restSignedInSchema = restObject(signedInSchema)
