import {
  DEFAULTS,
  type EnqueueItem,
  type EnqueueOptions,
  type JobDefinitions,
  type NewJob,
  prepareJob,
  unknownTopic,
} from '@oncue/core'

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

/** Whatever is null, or as it is by default, is left out. */
function describe(job: NewJob): EnqueueItem {
  const {
    id,
    topic,
    internalKey,
    sameQueue,
    payload,
    delayMs,
    meta,
    unique,
    after,
    onParentFailure,
    ...same
  } = job
  const { queue, priority, maxRetries, timeoutMs } = same
  return {
    topic,
    payload: JSON.parse(payload),
    ...withoutAbsent({
      ...same,
      queue: unless(queue, DEFAULTS.queue),
      priority: unless(priority, DEFAULTS.priority),
      maxRetries: unless(maxRetries, DEFAULTS.maxRetries),
      timeoutMs: unless(timeoutMs, DEFAULTS.timeoutMs),
      delay: unless(delayMs, 0),
      meta: meta && JSON.parse(meta),
      unique: unique && describeKey(unique),
      after: after.length === 0 ? undefined : [...after],
      onParentFailure: unless(onParentFailure, 'wait'),
    }),
  }
}

function describeKey(unique: NonNullable<NewJob['unique']>): EnqueueItem['unique'] {
  const { key, onConflict, withinMs, scope, ifRunning } = unique
  const others = { within: withinMs, scope: unless(scope, 'topic'), ifRunning: unless(ifRunning, 'wait') }
  return { key, onConflict, ...withoutAbsent(others) }
}

function unless<Value>(value: Value, byDefault: Value): Value | undefined {
  return value === byDefault ? undefined : value
}

type Present<Item> = { [Name in keyof Item]?: NonNullable<Item[Name]> }

function withoutAbsent<Item extends object>(item: Item): Present<Item> {
  return Object.fromEntries(
    Object.entries(item).filter(([, value]) => value !== undefined && value !== null),
  ) as Present<Item>
}
