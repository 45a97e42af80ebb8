import { DEFAULTS, type EnqueueOptions, type JobDefinitions, type NewJob, prepareJob } from '@oncue/core'
import { unknownTopic } from '@oncue/core/internal'
import type { EnqueueItem } from '@oncue/core/wire'

/**
 * A job as the API takes it. Everything that can be known to be wrong is refused here, before any request; what
 * its definition says goes along, because the API does not know it.
 */
export function toRequest(
  definitions: JobDefinitions | undefined,
  topic: string,
  payload: unknown,
  options: EnqueueOptions | undefined,
): EnqueueItem {
  if (definitions && !Object.hasOwn(definitions, topic)) {
    const hint = 'Define it with defineJobs, and give the definitions to createClient as jobs.'
    throw unknownTopic(
      topic,
      'is none of the jobs that this client was given',
      Object.keys(definitions),
      hint,
    )
  }
  return describe(prepareJob(topic, payload, options, definitions?.[topic]))
}

function describe(job: NewJob): EnqueueItem {
  const { topic, unique, runAt, after } = job
  return withoutAbsent({
    topic,
    payload: JSON.parse(job.payload),
    queue: unless(job.queue, DEFAULTS.queue),
    priority: unless(job.priority, DEFAULTS.priority),
    maxRetries: unless(job.maxRetries, DEFAULTS.maxRetries),
    timeoutMs: unless(job.timeoutMs, DEFAULTS.timeoutMs),
    retry: job.retry ?? undefined,
    runAt: runAt ?? undefined,
    delay: unless(job.delayMs, 0),
    meta: job.meta === null ? undefined : JSON.parse(job.meta),
    trace: job.trace ?? undefined,
    unique: unique ? describeKey(unique) : undefined,
    idempotencyKey: job.idempotencyKey ?? undefined,
    concurrencyKey: job.concurrencyKey ?? undefined,
    concurrencyLimit: job.concurrencyLimit ?? undefined,
    after: after.length === 0 ? undefined : [...after],
    onParentFailure: unless(job.onParentFailure, 'wait'),
    parentId: job.parentId ?? undefined,
  })
}

function describeKey(unique: NonNullable<NewJob['unique']>): EnqueueItem['unique'] {
  const { key, onConflict, withinMs, scope, ifRunning } = unique
  return withoutAbsent({
    key,
    onConflict,
    within: withinMs ?? undefined,
    scope: unless(scope, 'topic'),
    ifRunning: unless(ifRunning, 'wait'),
  })
}

function unless<Value>(value: Value, byDefault: Value): Value | undefined {
  return value === byDefault ? undefined : value
}

function withoutAbsent<Item extends object>(item: Item): Item {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined)) as Item
}
