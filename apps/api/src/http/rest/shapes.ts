import { type ErrorCode, type JobId, OncueError } from '@oncue/core'
import {
  alertSchema,
  type BulkOperation,
  bulkOperationSchema,
  type enqueueManyResponseSchema,
  errorResponseSchema,
  failureGroupSchema,
  failuresRequestSchema,
  getJobResponseSchema,
  isoDateSchema,
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

/**
 * A response in REST's form: snake_case at every depth. Not renamed is what callers wrote: records, JSON values and
 * retry policies. Its dates become texts when it is written as JSON.
 */
export function restObject(schema: z.ZodObject): z.ZodObject {
  const fields = Object.entries(toRest(schema.shape) as Record<string, z.ZodType>)
  return z.object(Object.fromEntries(fields.map(([name, field]) => [name, restField(field)])))
}

function restField(field: z.ZodType): z.ZodType {
  const { description } = field
  const renamed = renamedField(field)
  return description === undefined || renamed === field ? renamed : renamed.describe(description)
}

function renamedField(field: z.ZodType): z.ZodType {
  if (isRenamed(field)) return restObject(field)
  if (field instanceof z.ZodArray) return z.array(restField(field.element as z.ZodType))
  if (field instanceof z.ZodNullable) return restField(field.unwrap() as z.ZodType).nullable()
  if (field instanceof z.ZodOptional) return restField(field.unwrap() as z.ZodType).optional()
  return field
}

const RETRY_POLICY: z.ZodType = jobSchema.shape.retry.unwrap()

function isRenamed(schema: z.ZodType): schema is z.ZodObject {
  return schema instanceof z.ZodObject && schema !== RETRY_POLICY
}

/** A value of the schema, as `restObject` of it describes. */
export function restBody<Schema extends z.ZodObject>(
  schema: Schema,
  value: z.output<Schema>,
): Record<string, unknown> {
  const fields: Record<string, z.ZodType | undefined> = schema.shape
  const given = Object.entries(value)
  return toRest(Object.fromEntries(given.map(([name, field]) => [name, restValue(fields[name], field)])))
}

function restValue(schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return restValue(schema.unwrap() as z.ZodType, value)
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => restValue(schema.element as z.ZodType, item))
  return schema && isRenamed(schema) && value !== null && value !== undefined
    ? restBody(schema, value as Record<string, unknown>)
    : value
}

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
    respond: (items) => ({ status: 200, body: { items: items.map((one) => restBody(item, one)) } }),
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

export const restJobSchema = restObject(getJobResponseSchema)

export const restJobPageSchema = z.object({
  items: z.array(restObject(jobSummarySchema)),
  total: z.int(),
  total_is_exact: z.boolean().describe('false: there are at least this many'),
  limit: z.int(),
  offset: z.int(),
  next_cursor: z.string().nullable().describe('for `cursor`; null: this is the last page'),
})

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
  PARENT_LIVE: { code: 'INVALID_STATE', why: 'its parent is live and uses its result' },
  CHANGED: { code: 'INVALID_STATE', why: 'it has just changed' },
  SUSPENDED: {
    code: 'INVALID_STATE',
    why: 'it is suspended, and waits for a signal, a timer or its children',
  },
  UNDOING: { code: 'INVALID_STATE', why: 'it is being undone, and ends when that is done' },
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
  items: z.array(restObject(failureGroupSchema)),
})

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

export const restBulkOperationSchema = restObject(bulkOperationSchema)

/** The names of a filter's fields are ours too, although it is stored as a record. */
export function toRestBulkOperation(operation: BulkOperation): Record<string, unknown> {
  return { ...restBody(bulkOperationSchema, operation), filter: toRest(operation.filter) }
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
