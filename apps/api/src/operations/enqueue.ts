import {
  type Enqueued,
  type ErrorResponse,
  enqueuedSchema,
  enqueueManyRequestSchema,
  enqueueManyResponseSchema,
  enqueueRequestSchema,
  isOncueError,
  MAX_BATCH,
  type NewJob,
  OncueError,
  prepareJob,
  toInputError,
} from '@oncue/core'
import type { z } from 'zod'
import type { ApiContext } from '../context.ts'
import type { Stored } from '../enqueuer.ts'
import { changing } from '../operation.ts'
import { noteJobs } from './notes.ts'

type Request = z.output<typeof enqueueRequestSchema>

export const enqueue = changing({
  name: 'jobs.enqueue',
  access: 'enqueue',
  input: enqueueRequestSchema,
  output: enqueuedSchema,
  run: async (ctx, request) => ctx.enqueuer.storeOne(await prepare(ctx, request)),
  note: ({ topic }, { id, created }) => noteJobs({ topic, ids: [id] }, created ? 1 : 0),
})

export const enqueueMany = changing({
  name: 'jobs.enqueueMany',
  access: 'enqueue',
  input: enqueueManyRequestSchema,
  output: enqueueManyResponseSchema,
  async run(ctx, { jobs: requests, atomic }) {
    if (requests.length > MAX_BATCH) {
      const message = `input.jobs has ${requests.length} items, more than ${MAX_BATCH}`
      throw new OncueError('BATCH_TOO_LARGE', message)
    }
    const prepared = await prepareEach(ctx, requests)
    const jobs = prepared.filter((item): item is NewJob => !isOncueError(item))
    const fault = prepared.find((item) => isOncueError(item))
    if (atomic && fault) throw fault
    const stored = atomic ? await ctx.enqueuer.storeAll(jobs) : await ctx.enqueuer.storeEach(jobs)
    return toResponse(prepared, stored)
  },
  note: (_, { results }) => {
    const enqueued = results.filter((result): result is Enqueued => 'id' in result)
    return noteJobs({ ids: enqueued.map(({ id }) => id) }, enqueued.filter(({ created }) => created).length)
  },
})

/** Cheap checks first: what a token may enqueue, then the payload's form, then the schema of its topic. */
async function prepare(ctx: ApiContext, request: Request): Promise<NewJob> {
  await ctx.auth.assertTopic(ctx.principal, request.topic)
  return toJob(request, await payloadChecker(ctx))
}

/** Each job, or what is wrong with it. Whatever has to be asked for is asked for once. */
async function prepareEach(ctx: ApiContext, items: readonly unknown[]): Promise<(NewJob | OncueError)[]> {
  const check = await payloadChecker(ctx)
  const requests = items.map((item, index) => attempt(() => parseItem(item, index)))
  const topics = new Set(requests.flatMap((request) => (isOncueError(request) ? [] : request.topic)))
  const refusals = new Map<string, OncueError>()
  for (const topic of topics) {
    const refusal = await ctx.auth.assertTopic(ctx.principal, topic).catch(refused)
    if (refusal) refusals.set(topic, refusal)
  }
  return requests.map((request, index) => {
    const job = isOncueError(request)
      ? request
      : (refusals.get(request.topic) ?? attempt(() => toJob(request, check)))
    return isOncueError(job) ? withIndex(job, index) : job
  })
}

async function payloadChecker({ payloads, settings }: ApiContext) {
  const { payloadValidation } = await settings.get()
  return payloads.checker(payloadValidation)
}

function toJob(request: Request, check: (topic: string, payload: unknown) => void): NewJob {
  const { topic, payload = null, ...options } = request
  // Without options it need not look at them again.
  const job = prepareJob(topic, payload, Object.keys(options).length > 0 ? options : undefined)
  check(topic, payload)
  return job
}

function parseItem(item: unknown, index: number): Request {
  // REST, whose items look otherwise, has found out already.
  if (isOncueError(item)) throw item
  const parsed = enqueueRequestSchema.safeParse(item)
  if (parsed.success) return parsed.data
  throw toInputError(parsed.error, `input.jobs[${index}]`, item)
}

function attempt<Value>(work: () => Value): Value | OncueError {
  try {
    return work()
  } catch (error) {
    return refused(error)
  }
}

/** The caller's fault, which concerns one item. Whatever else it is concerns them all. */
function refused(error: unknown): OncueError {
  if (isOncueError(error) && !error.retryable) return error
  throw error
}

function withIndex({ code, message, hint, details }: OncueError, index: number): OncueError {
  return new OncueError(code, message, { hint, details: { ...details, index } })
}

/** The answers in the order of the request: each job that could be stored takes the next of `stored`. */
function toResponse(prepared: readonly (NewJob | OncueError)[], stored: readonly Stored[]) {
  const left = stored.values()
  const results = prepared.map((item, index): Enqueued | ErrorResponse => {
    const result = isOncueError(item) ? item : left.next().value
    if (result === undefined) throw new OncueError('INTERNAL', 'The enqueue answered too few ids')
    return isOncueError(result) ? { error: withIndex(result, index).toJSON() } : result
  })
  const refused = results.filter((result) => 'error' in result).length
  return { stored: results.length - refused, refused, results }
}
