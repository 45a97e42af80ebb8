import { type ErrorCode, isOncueError, type JobId, type NewJob, OncueError } from '@oncue/core'
import { makeJob, type TopicPolicy } from '@oncue/core/internal'
import {
  type CheckedItem,
  type Enqueued,
  type ErrorResponse,
  enqueueCallSchema,
  enqueuedSchema,
  enqueueManyRequestSchema,
  enqueueManyResponseSchema,
  restEnqueueRequestSchema,
} from '@oncue/core/wire'
import type { z } from 'zod'
import type { ApiContext } from '../context.ts'
import type { Stored } from '../enqueue/enqueuer.ts'
import { toPublicError } from '../errors.ts'
import { BATCH_BODY, JOB_BODY } from '../http/body.ts'
import { commandSchema, submittedSchema } from '../http/rest/commands.ts'
import {
  restBatchReportSchema,
  restBatchSchema,
  restEnqueuedSchema,
  ticketOf,
  toBatchReport,
} from '../http/rest/shapes.ts'
import { unmaskedChecker } from '../masking/masker.ts'
import { auditJobs } from './audit-jobs.ts'
import { queueChecker } from './own-queue.ts'
import { callerOf, mutation } from './procedure.ts'

type Request = z.output<typeof enqueueCallSchema>

export const ENQUEUE_ERRORS: readonly ErrorCode[] = [
  'INVALID_TOPIC',
  'INVALID_QUEUE',
  'INVALID_PRIORITY',
  'INVALID_DATE',
  'INVALID_TEXT',
  'INVALID_PAYLOAD',
  'UNSAFE_NUMBER',
  'PAYLOAD_TOO_LARGE',
  'META_TOO_LARGE',
  'TOPIC_NOT_ALLOWED',
  'QUEUE_NOT_ALLOWED',
  'UNKNOWN_PARENT',
  'UNIQUE_KEY_LIVE',
]

export const enqueue = mutation({
  access: 'enqueue',
  input: enqueueCallSchema,
  output: enqueuedSchema,
  maxBody: JOB_BODY,
  async run(ctx, request) {
    const [stored] = await ctx.enqueuer.storeEach([await prepare(ctx, request)])
    if (stored === undefined) throw new OncueError('INTERNAL', 'The enqueue returned no id')
    if (isOncueError(stored)) throw stored
    return stored
  },
  audit: ({ topic }, enqueued) => auditJobs({ topic, ids: [enqueued.id] }, hasChanged(enqueued) ? 1 : 0),
  rest: [
    {
      at: 'POST /api/jobs/enqueue',
      summary: 'Enqueue a job',
      body: restEnqueueRequestSchema,
      example: { topic: 'mail_digest', payload: { userId: '123' }, maxRetries: 5 },
      idempotent: 'idempotencyKey',
      responses: { 201: restEnqueuedSchema },
      errors: ENQUEUE_ERRORS,
      respond: async ({ id, created, replaced }, { glance }) => ({
        status: 201,
        body: { ...(await ticketOf(id, glance)), is_new: created, replaced },
      }),
    },
    {
      at: 'POST /api/commands/jobs',
      summary: 'Submit a command: a job whose topic is `app:command`',
      body: commandSchema,
      example: { app: 'open_notebook', command: 'embed_chunk', input: { source_id: 'source:abc123' } },
      idempotent: 'idempotencyKey',
      responses: { 202: submittedSchema },
      errors: ENQUEUE_ERRORS,
      respond: ({ id }, { body }) => {
        const { command } = body as { command: string }
        const message = `Command '${command}' submitted successfully`
        return { status: 202, body: { job_id: id, status: 'submitted', message } }
      },
    },
  ],
})

export const enqueueMany = mutation({
  access: 'enqueue',
  input: enqueueManyRequestSchema,
  output: enqueueManyResponseSchema,
  maxBody: BATCH_BODY,
  async run(ctx, { jobs: requests, atomic, isRepeat = false }) {
    const prepared = await prepareEach(ctx, requests, atomic, isRepeat)
    const jobs = prepared.filter((item): item is NewJob => !isOncueError(item))
    const fault = prepared.find((item) => isOncueError(item))
    if (atomic && fault) throw fault
    const stored = atomic ? await ctx.enqueuer.storeAll(jobs) : await ctx.enqueuer.storeEach(jobs)
    const [first] = stored
    // No job was stored, for a reason that is not theirs: the whole call can be retried.
    if (isOncueError(first) && first.retryable && stored.every((item) => isOncueError(item))) throw first
    return toResponse(ctx, prepared, stored)
  },
  audit: (_, { results }) => {
    const enqueued = results.filter((result): result is Enqueued => 'id' in result)
    return auditJobs({ ids: enqueued.map(({ id }) => id) }, enqueued.filter(hasChanged).length)
  },
  rest: [
    {
      at: 'POST /api/jobs/enqueue/batch',
      summary: 'Enqueue up to 1,000 jobs; invalid ones are reported, the others are stored',
      body: restBatchSchema,
      example: { jobs: [{ topic: 'mail_digest', payload: { userId: '123' } }, { topic: 'mail_digest' }] },
      responses: { 201: restBatchReportSchema, 207: restBatchReportSchema },
      // An atomic batch returns the error of its first invalid job.
      errors: ['BATCH_TOO_LARGE', 'DEPENDENCY_CYCLE', ...ENQUEUE_ERRORS],
      respond: (output) => ({ status: output.refused === 0 ? 201 : 207, body: toBatchReport(output) }),
    },
  ],
})

/** A job was created, or its payload was replaced. */
export function hasChanged({ created, replaced }: Enqueued): boolean {
  return created || replaced
}

/** Cheap checks first: what a token may enqueue, then the payload's form, then the schema of its topic. */
async function prepare(ctx: ApiContext, request: Request): Promise<NewJob> {
  await ctx.auth.assertTopic(ctx.principal, request.topic)
  if (sharesKey(request)) await ctx.auth.assertAllTopics(ctx.principal)
  return toJob(request, await checksFor(ctx), request.isRepeat)
}

/** Each job, or its error. Settings, schemas and access are read once for all. */
async function prepareEach(
  ctx: ApiContext,
  items: readonly (CheckedItem | OncueError)[],
  atomic: boolean,
  isRepeat: boolean,
): Promise<(NewJob | OncueError)[]> {
  const checks = await checksFor(ctx)
  const requests = items.map((item, index) => attempt(() => checkParents(item, index, items.length, atomic)))
  const topics = new Set(requests.flatMap((request) => (isOncueError(request) ? [] : request.topic)))
  const refusals = new Map<string, OncueError>()
  for (const topic of topics) {
    const refusal = await ctx.auth.assertTopic(ctx.principal, topic).catch(refused)
    if (refusal) refusals.set(topic, refusal)
  }
  const isShared = requests.some((request) => !isOncueError(request) && sharesKey(request))
  const unshared = isShared ? await ctx.auth.assertAllTopics(ctx.principal).catch(refused) : undefined
  const prepared = requests.map((request) => {
    if (isOncueError(request)) return request
    const refusal = refusals.get(request.topic) ?? (sharesKey(request) ? unshared : undefined)
    return refusal ?? attempt(() => toJob(request, checks, isRepeat))
  })
  return prepared.map((job, index) =>
    isOncueError(job) ? withIndex(job, index) : afterItems(job, requests[index], prepared),
  )
}

/** All of them, or the error of the first that is refused, which is named by where it is in the request. */
export async function prepareAll(
  ctx: ApiContext,
  items: readonly (readonly [at: string, item: CheckedItem])[],
  isRepeat: boolean,
): Promise<NewJob[]> {
  const prepared = await prepareEach(
    ctx,
    items.map(([, item]) => item),
    true,
    isRepeat,
  )
  return prepared.map((job, n) => {
    if (!isOncueError(job)) return job
    const { code, message, hint, details: { index: _, ...rest } = {} } = job
    const details = Object.keys(rest).length > 0 ? rest : undefined
    throw new OncueError(code, `${items[n]?.[0]}: ${message}`, { hint, details })
  })
}

/** A key shared by all topics would reveal jobs of other topics, and could keep them out. */
export function sharesKey({ unique }: Pick<Request, 'unique'>): boolean {
  return unique?.scope === 'all'
}

/** Adds the ids of the jobs of this batch that it waits for, now that they have ids. */
function afterItems(
  job: NewJob,
  request: CheckedItem | OncueError | undefined,
  prepared: readonly (NewJob | OncueError)[],
): NewJob {
  if (!request || isOncueError(request) || !request.afterItems) return job
  const parents = request.afterItems.flatMap((index) => {
    const parent = prepared[index]
    return parent && !isOncueError(parent) ? [parent.id] : []
  })
  return { ...job, after: [...new Set([...job.after, ...parents])] }
}

interface Checks {
  /** Keys belong to topics, so a key could lead into a queue that the caller may not use. */
  readonly sameQueue: boolean
  readonly assertQueue: (queue?: string) => void
  readonly assertPayload: (topic: string, payload: unknown, text: string) => void
  readonly policyOf: (topic: string) => TopicPolicy | undefined
  readonly withRequest: (job: NewJob, requestId: JobId, isRepeat: boolean) => NewJob
}

async function checksFor(ctx: ApiContext): Promise<Checks> {
  const { payloadValidation } = await ctx.settings.get()
  const assertValid = await ctx.payloads.checker(payloadValidation)
  const assertUnmasked = await unmaskedChecker(ctx)
  const policyOf = await ctx.payloads.policies()
  return {
    policyOf,
    sameQueue: !(await ctx.auth.allowsEveryQueue(ctx.principal)),
    assertQueue: await queueChecker(ctx),
    assertPayload(topic, payload, text) {
      assertUnmasked(payload, text)
      assertValid(topic, payload)
    },
    withRequest: (job, requestId, isRepeat) => ctx.requestIds.apply(job, callerOf(ctx), requestId, isRepeat),
  }
}

function toJob(
  request: Request | CheckedItem,
  { sameQueue, assertQueue, assertPayload, policyOf, withRequest }: Checks,
  isRepeat = false,
): NewJob {
  const { requestId } = request
  const made = makeJob(request, policyOf(request.topic))
  assertQueue(made.queue)
  assertPayload(request.topic, request.payload ?? null, made.payload)
  const job = requestId === undefined ? made : withRequest(made, requestId, isRepeat)
  return sameQueue ? { ...job, sameQueue } : job
}

function checkParents(
  item: CheckedItem | OncueError,
  index: number,
  count: number,
  atomic: boolean,
): CheckedItem {
  if (isOncueError(item)) throw item
  const { afterItems } = item
  if (!afterItems) return item
  const at = `input.jobs[${index}].afterItems`
  // Without atomic, refusing one job would mean refusing all that wait for it.
  if (!atomic) throw new OncueError('INVALID_INPUT', `${at} needs atomic: true`)
  const unknown = afterItems.find((parent) => parent >= count)
  if (unknown === undefined) return item
  throw new OncueError('INVALID_INPUT', `${at}: there is no item ${unknown}, only ${count} items`)
}

function attempt<Value>(work: () => Value): Value | OncueError {
  try {
    return work()
  } catch (error) {
    return refused(error)
  }
}

/** A caller's fault concerns one item; any other error concerns them all, and is thrown. */
function refused(error: unknown): OncueError {
  if (isOncueError(error) && !error.retryable) return error
  throw error
}

function withIndex({ code, message, hint, details }: OncueError, index: number): OncueError {
  return new OncueError(code, message, { hint, details: { ...details, index } })
}

/** The results in the order of the request: each stored job takes the next of `stored`. */
function toResponse(
  { request }: ApiContext,
  prepared: readonly (NewJob | OncueError)[],
  stored: readonly Stored[],
) {
  const left = stored.values()
  const results = prepared.map((item, index): Enqueued | ErrorResponse => {
    const result = isOncueError(item) ? item : left.next().value
    if (result === undefined) throw new OncueError('INTERNAL', 'The enqueue returned too few ids')
    if (!isOncueError(result)) return result
    return { error: withIndex(toPublicError(result, request.id), index).toJSON() }
  })
  const refused = results.filter((result) => 'error' in result).length
  return { stored: results.length - refused, refused, results }
}
