import { z } from 'zod'
import type { JobDefinition } from '../define/jobs.ts'
import { OncueError } from '../errors.ts'
import { type EnqueueOptions, enqueueOptionsSchema } from './enqueue-options.ts'
import { type JobId, newJobId } from './id.ts'
import { toInputError } from './input-error.ts'
import type { NewJob } from './job.ts'
import { copyJson, encodeJson } from './json.ts'
import { DEFAULTS } from './limits.ts'
import { assertOtherQueue, assertOtherTopic, assertTopic } from './names.ts'
import { type RetryPolicy, retryPolicySchema, toRetrySettings } from './retry.ts'
import { assertText } from './text.ts'
import { parsePayload } from './validate.ts'

type CheckedOptions = z.output<typeof enqueueOptionsSchema>
/** Options that do not contradict each other or the definition. */
type Settled = Omit<CheckedOptions, 'retry'> & { readonly retry: RetryPolicy | undefined }
/** The options of a topic for all its jobs: from its definition, or as a worker announced them. */
export type TopicPolicy = Partial<
  Pick<JobDefinition, 'queue' | 'priority' | 'timeoutMs' | 'maxRetries' | 'retry'>
>
type Newcomer = { readonly topic: string; readonly payload?: unknown }

/**
 * The only way into the queue: everything wrong with a job is refused here, with a named code, before any
 * database sees it. Precedence: the options, then the definition of the topic, then the defaults.
 *
 * Runs for every job, tens of thousands a second, so absent options cost nothing.
 */
export function prepareJob(
  topic: string,
  payload: unknown,
  options?: EnqueueOptions,
  definition?: JobDefinition | TopicPolicy,
  newId: () => JobId = newJobId,
): NewJob {
  return assertNotOurs(prepareOwnJob(topic, payload, options, definition, newId))
}

/** Like `prepareJob`, for Oncue itself: its own topics and its own queue are allowed. */
export function prepareOwnJob(
  topic: string,
  payload: unknown,
  options?: EnqueueOptions,
  definition?: JobDefinition | TopicPolicy,
  newId: () => JobId = newJobId,
): NewJob {
  assertTopic(topic)
  const text = encodeJson(payload, 'payload')
  if (definition && 'input' in definition) parsePayload(definition.input, JSON.parse(text), topic)
  return toJob(topic, text, settleOptions(parseOptions(options), definition), newId)
}

/**
 * For a producer that asks another process to store the job: the same checks, and the request to send. The payload is
 * a copy, as JSON would return it, and not encoded: that is done once, with the whole request.
 */
export function checkRequest(
  topic: string,
  payload: unknown,
  options?: EnqueueOptions,
  definition?: JobDefinition,
): { readonly request: Newcomer & Settled; readonly payloadBytes: number } {
  assertTopic(topic)
  const { value, bytes } = copyJson(payload, 'payload')
  // On a separate copy, because a schema may change what it parses.
  if (definition) parsePayload(definition.input, copyJson(value, 'payload').value, topic)
  const { meta, ...settled } = settleOptions(parseOptions(options), definition)
  const plainMeta = meta && (copyJson(meta, 'meta').value as Record<string, unknown>)
  const request = assertNotOurs({ ...settled, topic, payload: value, meta: plainMeta })
  return { request, payloadBytes: bytes }
}

/** For the side that stores: the job of a request that matches the wire schema. Options are not parsed again. */
export function makeJob(
  { topic, payload, ...options }: Newcomer & CheckedOptions,
  policy?: TopicPolicy,
): NewJob {
  return assertNotOurs(toJob(topic, encodeJson(payload, 'payload'), settleOptions(options, policy), newJobId))
}

const { queue, priority, timeoutMs, maxRetries } = enqueueOptionsSchema.shape
const policySchema = z.object({
  queue: queue.catch(undefined),
  priority: priority.catch(undefined),
  timeoutMs: timeoutMs.catch(undefined),
  maxRetries: maxRetries.catch(undefined),
  retry: retryPolicySchema.optional().catch(undefined),
})

/**
 * The announced options of a topic that matter for an enqueue. Fields that this version does not understand
 * are left out.
 */
export function readPolicy(announced: unknown): TopicPolicy {
  return policySchema.safeParse(announced).data ?? {}
}

function assertNotOurs<Job extends { readonly topic: string; readonly queue?: string | undefined }>(
  job: Job,
): Job {
  assertOtherTopic(job.topic)
  if (job.queue !== undefined) assertOtherQueue(job.queue)
  return job
}

const NO_OPTIONS: CheckedOptions = {}

function parseOptions(options: EnqueueOptions | undefined): CheckedOptions {
  if (options === undefined) return NO_OPTIONS
  const parsed = enqueueOptionsSchema.safeParse(options)
  if (!parsed.success) throw toInputError(parsed.error, 'options', options)
  return parsed.data
}

function settleOptions(options: CheckedOptions, definition: TopicPolicy | undefined): Settled {
  const { retry, maxRetries, ...same } = options
  refuseBoth(same.runAt, same.delay, 'runAt', 'delay')
  const retrySettings = toRetrySettings(retry)
  refuseBoth(maxRetries, retrySettings.maxRetries, 'maxRetries', 'retry.max')
  for (const [field, value] of Object.entries(same)) {
    if (typeof value === 'string') assertText(value, `options.${field}`)
  }
  if (same.unique) checkUnique(same.unique)
  if (same.concurrencyLimit !== undefined && same.concurrencyKey === undefined) {
    throw new OncueError('INVALID_INPUT', 'options.concurrencyLimit needs options.concurrencyKey')
  }
  return {
    ...same,
    queue: same.queue ?? definition?.queue,
    priority: same.priority ?? definition?.priority,
    timeoutMs: same.timeoutMs ?? definition?.timeoutMs,
    maxRetries: maxRetries ?? retrySettings.maxRetries ?? definition?.maxRetries,
    retry: retrySettings.retry ?? definition?.retry,
  }
}

function toJob(topic: string, payload: string, options: Settled, newId: () => JobId): NewJob {
  const { unique, concurrencyKey, after, meta } = options
  return {
    id: newId(),
    queue: options.queue ?? DEFAULTS.queue,
    topic,
    payload,
    priority: options.priority ?? DEFAULTS.priority,
    runAt: options.runAt ?? null,
    delayMs: options.delay ?? 0,
    maxRetries: options.maxRetries ?? DEFAULTS.maxRetries,
    retry: options.retry ?? null,
    timeoutMs: options.timeoutMs ?? DEFAULTS.timeoutMs,
    meta: meta ? encodeJson(meta, 'meta') : null,
    trace: options.trace ?? null,
    unique: unique
      ? {
          key: unique.key,
          scope: unique.scope ?? 'topic',
          withinMs: unique.within ?? null,
          onConflict: unique.onConflict ?? 'existing',
          ifRunning: unique.ifRunning ?? 'wait',
        }
      : null,
    idempotencyKey: options.idempotencyKey ?? null,
    internalKey: null,
    concurrencyKey: concurrencyKey ?? null,
    concurrencyLimit: concurrencyKey === undefined ? null : (options.concurrencyLimit ?? 1),
    after: after ? [...new Set(after)] : [],
    onParentFailure: options.onParentFailure ?? 'wait',
    parentId: options.parentId ?? null,
  }
}

function checkUnique({ key, scope, onConflict, ifRunning }: NonNullable<EnqueueOptions['unique']>): void {
  assertText(key, 'options.unique.key')
  if (ifRunning !== undefined && onConflict !== 'replace') {
    throw new OncueError('INVALID_INPUT', "options.unique.ifRunning needs onConflict: 'replace'")
  }
  // A payload is valid only for the schema of its own topic.
  if (scope === 'all' && onConflict === 'replace') {
    throw new OncueError(
      'INVALID_INPUT',
      "options.unique: a key with scope 'all' cannot replace, because its job may be of another topic",
    )
  }
}

/** Two options for the same thing: with both given, either choice could be the wrong one. */
function refuseBoth(one: unknown, other: unknown, oneName: string, otherName: string): void {
  if (one === undefined || other === undefined) return
  throw new OncueError('INVALID_INPUT', `options.${oneName} and options.${otherName} cannot be combined`)
}
