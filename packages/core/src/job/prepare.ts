import type { JobDefinition } from '../define/jobs.ts'
import { OncueError } from '../errors.ts'
import { type EnqueueOptions, enqueueOptionsSchema } from './enqueue-options.ts'
import { type JobId, newJobId } from './id.ts'
import { toInputError } from './input-error.ts'
import type { NewJob } from './job.ts'
import { encodeJson } from './json.ts'
import { DEFAULTS } from './limits.ts'
import { assertOtherQueue, assertOtherTopic, assertTopic } from './names.ts'
import { toRetrySettings } from './retry.ts'
import { assertText } from './text.ts'
import { parsePayload } from './validate.ts'

/**
 * The one gate into the queue: everything wrong with a job is refused here, by a named code, before any
 * database sees it. Precedence: the options, then the definition of the topic, then the defaults.
 *
 * Runs for every job, tens of thousands a second, so absent options cost nothing.
 */
export function prepareJob(
  topic: string,
  payload: unknown,
  options?: EnqueueOptions,
  definition?: JobDefinition,
  newId: () => JobId = newJobId,
): NewJob {
  const job = prepareOwnJob(topic, payload, options, definition, newId)
  assertOtherTopic(job.topic)
  assertOtherQueue(job.queue)
  return job
}

/** As `prepareJob`, for Oncue itself: its own topics and its own queue are allowed. */
export function prepareOwnJob(
  topic: string,
  payload: unknown,
  options?: EnqueueOptions,
  definition?: JobDefinition,
  newId: () => JobId = newJobId,
): NewJob {
  assertTopic(topic)
  const text = encodeJson(payload, 'payload')
  if (definition) parsePayload(definition.input, JSON.parse(text), topic)
  const given = options === undefined ? NOTHING_GIVEN : readOptions(options)
  return {
    id: newId(),
    queue: given.queue ?? definition?.queue ?? DEFAULTS.queue,
    topic,
    payload: text,
    priority: given.priority ?? definition?.priority ?? DEFAULTS.priority,
    runAt: given.runAt ?? null,
    delayMs: given.delayMs ?? 0,
    maxRetries: given.maxRetries ?? definition?.maxRetries ?? DEFAULTS.maxRetries,
    retry: given.retry ?? definition?.retry ?? null,
    timeoutMs: given.timeoutMs ?? definition?.timeoutMs ?? DEFAULTS.timeoutMs,
    meta: given.meta ?? null,
    trace: given.trace ?? null,
    unique: given.unique ?? null,
    idempotencyKey: given.idempotencyKey ?? null,
    internalKey: null,
    concurrencyKey: given.concurrencyKey ?? null,
    concurrencyLimit: given.concurrencyKey === undefined ? null : (given.concurrencyLimit ?? 1),
    after: given.after ?? [],
    onParentFailure: given.onParentFailure ?? 'wait',
    parentId: given.parentId ?? null,
  }
}

/** What callers may say of a new job. */
type Given = Partial<ReturnType<typeof readOptions>>

const NOTHING_GIVEN: Given = {}

function readOptions(options: EnqueueOptions) {
  const parsed = enqueueOptionsSchema.safeParse(options)
  if (!parsed.success) throw toInputError(parsed.error, 'options', options)
  const { delay, retry, maxRetries, meta, unique, ...same } = parsed.data
  refuseBoth(same.runAt, delay, 'runAt', 'delay')
  const retrySettings = toRetrySettings(retry)
  refuseBoth(maxRetries, retrySettings.maxRetries, 'maxRetries', 'retry.max')
  for (const field of ['idempotencyKey', 'concurrencyKey', 'trace'] as const) {
    const value = same[field]
    if (value !== undefined) assertText(value, `options.${field}`)
  }
  if (unique) checkUnique(unique)
  if (same.concurrencyLimit !== undefined && same.concurrencyKey === undefined) {
    throw new OncueError('INVALID_INPUT', 'options.concurrencyLimit needs options.concurrencyKey')
  }
  return {
    ...same,
    delayMs: delay,
    after: same.after && [...new Set(same.after)],
    unique: unique && {
      key: unique.key,
      scope: unique.scope ?? 'topic',
      withinMs: unique.within ?? null,
      onConflict: unique.onConflict ?? 'existing',
      ifRunning: unique.ifRunning ?? 'wait',
    },
    maxRetries: maxRetries ?? retrySettings.maxRetries,
    retry: retrySettings.retry,
    meta: meta && encodeJson(meta, 'meta'),
  }
}

function checkUnique({ key, scope, onConflict, ifRunning }: NonNullable<EnqueueOptions['unique']>): void {
  assertText(key, 'options.unique.key')
  if (ifRunning !== undefined && onConflict !== 'replace') {
    throw new OncueError('INVALID_INPUT', "options.unique.ifRunning needs onConflict: 'replace'")
  }
  // A payload fits the schema of its own topic only.
  if (scope === 'all' && onConflict === 'replace') {
    throw new OncueError(
      'INVALID_INPUT',
      "options.unique: a key with scope 'all' cannot replace, because its job may be of another topic",
    )
  }
}

/** Two ways to say one thing: with both given, either choice could be the wrong one. */
function refuseBoth(one: unknown, other: unknown, oneName: string, otherName: string): void {
  if (one === undefined || other === undefined) return
  throw new OncueError('INVALID_INPUT', `options.${oneName} and options.${otherName} cannot be combined`)
}
