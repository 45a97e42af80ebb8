import { type ErrorCode, type JobId, OncueError } from '@oncue/core'
import {
  alertSchema,
  type BulkOperation,
  bulkOperationSchema,
  type enqueueManyResponseSchema,
  errorResponseSchema,
  type FailureGroup,
  failureGroupSchema,
  failuresRequestSchema,
  getJobResponseSchema,
  isoDateSchema,
  jobEventSchema,
  jobSchema,
  jobSummarySchema,
  listAlertsRequestSchema,
  listBulkOperationsRequestSchema,
  listJobsRequestSchema,
  previewSchema,
  readItems,
  restEnqueueItemSchema,
  signedInSchema,
  toRest,
} from '@oncue/core/wire'
import type { ActionReport } from '@oncue/db'
import { z } from 'zod'
import type { ResponseTools, RestRoute } from './route.ts'

/** Its dates become texts when it is written as JSON. */
export const restObject = (schema: z.ZodObject) => z.object(toRest(schema.shape) as Record<string, z.ZodType>)

/** The route of a list that is always sent whole. */
export function listRoute<Item extends z.ZodObject>(
  at: `GET /${string}`,
  summary: string,
  item: Item,
): RestRoute<z.ZodUndefined, z.ZodArray<Item>> {
  return {
    at,
    summary,
    toInput: () => undefined,
    responses: { 200: z.object({ items: z.array(restObject(item)) }) },
    respond: (items) => ({ status: 200, body: { items: items.map(toRest) } }),
  }
}

type ChangeRoute = Pick<
  RestRoute<z.ZodType, z.ZodNull>,
  'at' | 'summary' | 'params' | 'fields' | 'toInput' | 'errors'
>

/** The route of a change that returns nothing. */
export function changeRoute(
  route: ChangeRoute,
): ChangeRoute & Pick<RestRoute<z.ZodType, z.ZodNull>, 'responses' | 'respond'> {
  return { ...route, responses: { 204: null }, respond: () => ({ status: 204 }) }
}

const { id, topic, status, runAt, created } = jobSchema.shape

export const restTicketSchema = z
  .object({ id, topic, status, run_at: runAt, created })
  .describe('a summary of a job')

/** The current summary of a job. */
export async function ticketOf(id: JobId | undefined, glance: ResponseTools['glance']) {
  const job = id === undefined ? undefined : await glance(id)
  if (!id || !job) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
  const { topic, status, runAt, created } = job
  return { id, topic, status, run_at: runAt, created }
}

export const restEnqueuedSchema = restTicketSchema.extend({
  is_new: z.boolean().describe('false: a job with the same key already existed, and this is it'),
  replaced: z.boolean().describe('true: that job was waiting, and now has the payload of this request'),
})

export const restJobSchema = restObject(getJobResponseSchema).extend({
  events: z.array(restObject(jobEventSchema)).describe('the first events'),
})

export const restJobPageSchema = z.object({
  items: z.array(restObject(jobSummarySchema)),
  total: z.int(),
  total_is_exact: z.boolean().describe('false: there are at least this many'),
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

/** An action on one job that had no effect is an error that says why, since the caller named the job. */
export function refuseUndone(done: string, allowed: string) {
  return async (report: ActionReport, { params, glance }: ResponseTools): Promise<void> => {
    if (report.done > 0) return
    const { id = '' } = params
    const [reason = 'JOB_NOT_FOUND'] = Object.keys(report.skipped)
    const status = (await glance(id))?.status
    if (reason === 'JOB_NOT_FOUND' || !status) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
    const message = `Job ${id} is ${status} and was not ${done}: ${REASONS[reason]?.why ?? allowed}`
    throw new OncueError(REASONS[reason]?.code ?? 'INVALID_STATE', message, { details: { status, reason } })
  }
}

/** Reasons other than the job's status. */
const REASONS: Readonly<Record<string, { readonly code: ErrorCode; readonly why: string } | undefined>> = {
  UNIQUE_KEY_LIVE: { code: 'UNIQUE_KEY_LIVE', why: 'another job holds its unique key' },
  FORBIDDEN: { code: 'FORBIDDEN', why: "only an admin may cancel or delete Oncue's own jobs" },
  HAS_DEPENDANTS: { code: 'INVALID_STATE', why: 'other jobs wait for it' },
  CHANGED: { code: 'INVALID_STATE', why: 'it has just changed' },
  ALREADY_DUE: { code: 'INVALID_STATE', why: 'it is due already, and waits for a worker' },
  THROTTLED: { code: 'INVALID_STATE', why: 'it waits for a slot of its concurrency key' },
  BUSY: { code: 'DATABASE_BUSY', why: 'it is being claimed or settled' },
}

/** Items are checked one by one, so that an invalid one does not fail the others. */
export const restBatchSchema = z
  .strictObject({
    jobs: z
      .array(z.unknown())
      .min(1)
      .describe(
        'each as in POST /api/jobs/enqueue; at most 1,000. With atomic, `afterItems` lists other jobs of this ' +
          'request by index, from 0: the job waits until they have completed',
      ),
    atomic: z.boolean().default(false).describe('true: all or none'),
  })
  .transform(({ jobs, atomic }) => ({ jobs: readItems(jobs, restEnqueueItemSchema), atomic }))

export const restBatchReportSchema = z.object({
  stored: z.int(),
  refused: z.int(),
  results: z
    .array(
      z.union([restEnqueuedSchema.pick({ id: true, is_new: true, replaced: true }), errorResponseSchema]),
    )
    .describe('in the order of the request: the id, or the error'),
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
export const wholeNumber = (range: z.ZodType<number, number>) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(range)
    .optional()

const listFields = listJobsRequestSchema.shape

export const listQuery = {
  topic: listFields.topic,
  status: listFields.status.describe('one status; repeat it for several'),
  queue: listFields.queue,
  created_from: isoDateSchema.pipe(listFields.createdFrom.unwrap()).optional(),
  created_to: isoDateSchema.pipe(listFields.createdTo.unwrap()).optional(),
  fingerprint: listFields.fingerprint,
  id_prefix: listFields.idPrefix,
  id_suffix: listFields.idSuffix,
  payload_text: listFields.payloadText.describe('text within the payload; needs created_from'),
  error_text: listFields.errorText,
  meta: listFields.meta,
  order: listFields.order,
  limit: wholeNumber(listFields.limit.unwrap()).describe('default: 50'),
  offset: wholeNumber(listFields.offset.unwrap()),
  cursor: listFields.cursor.describe('next_cursor of the previous page; instead of offset'),
}

export function toListInput(fields: Record<string, unknown>): Record<string, unknown> {
  const { created_from, created_to, id_prefix, id_suffix, payload_text, error_text, ...same } = fields
  const renamed = {
    createdFrom: created_from,
    createdTo: created_to,
    idPrefix: id_prefix,
    idSuffix: id_suffix,
    payloadText: payload_text,
    errorText: error_text,
  }
  return { ...same, ...renamed }
}

export const restFailuresSchema = z.object({
  items: z.array(
    restObject(failureGroupSchema).extend({ sample: restObject(failureGroupSchema.shape.sample) }),
  ),
})

export function toRestFailure({ sample, ...group }: FailureGroup): Record<string, unknown> {
  return { ...toRest(group), sample: toRest(sample) }
}

const failuresFields = failuresRequestSchema.shape

export const failuresQuery = {
  queue: failuresFields.queue,
  topic: failuresFields.topic,
  fingerprint: failuresFields.fingerprint,
  text: failuresFields.text,
  sort: failuresFields.sort,
  since: isoDateSchema.pipe(failuresFields.since.unwrap()).optional().describe('default: 24 hours ago'),
  new_since: isoDateSchema
    .pipe(failuresFields.newSince.unwrap())
    .optional()
    .describe('a group first seen after this is new; default: an hour ago'),
  limit: wholeNumber(failuresFields.limit.unwrap()).describe('default: 50'),
}

export function toFailuresInput(fields: Record<string, unknown>): Record<string, unknown> {
  const { new_since, ...same } = fields
  return { ...same, newSince: new_since }
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
  limit: wholeNumber(alertLimit.unwrap()).describe('default: 50'),
  cursor: alertCursor.describe('next_cursor of the previous page'),
}

const { canary, outcomes } = bulkOperationSchema.shape

export const restBulkOperationSchema = restObject(bulkOperationSchema).extend({
  canary: restObject(canary.unwrap()).nullable(),
  outcomes: restObject(outcomes.unwrap())
    .nullable()
    .describe(outcomes.description ?? ''),
})

export function toRestBulkOperation({
  filter,
  canary,
  outcomes,
  ...operation
}: BulkOperation): Record<string, unknown> {
  return {
    ...toRest(operation),
    filter: toRest(filter),
    canary: canary && toRest(canary),
    outcomes: outcomes && toRest(outcomes),
  }
}

export const restPreviewSchema = restObject(previewSchema)

export const restBulkOperationPageSchema = z.object({
  items: z.array(restBulkOperationSchema),
  next_cursor: z.string().nullable().describe('for `cursor`; null: this is the last page'),
})

const { status: bulkStatus, limit: bulkLimit, cursor: bulkCursor } = listBulkOperationsRequestSchema.shape

export const bulkQuery = {
  status: bulkStatus,
  limit: wholeNumber(bulkLimit.unwrap()).describe('default: 50'),
  cursor: bulkCursor.describe('next_cursor of the previous page'),
}

export const restSignedInSchema = restObject(signedInSchema)
