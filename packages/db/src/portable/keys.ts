import type { JobId, NewJob } from '@oncue/core'
import type { EnqueueOutcome } from '../store.ts'

/** A row of `keys`, as it is named. */
export type KeyName = { readonly topic: string; readonly key: string }

/** Of keys that all topics share; no topic is empty. */
const ALL_TOPICS = ''

export function uniqueKeyOf({ topic, unique }: NewJob): KeyName | null {
  return unique && storedUniqueKey(topic, unique.key, unique.scope)
}

export function storedUniqueKey(topic: string, key: string, scope: string | null): KeyName {
  return { topic: scope === 'all' ? ALL_TOPICS : topic, key: `u:${key}` }
}

/** The key by which a repeated enqueue finds the job of the first. Those of Oncue itself are of a kind that no caller can name. */
export function onceKeyOf({ topic, idempotencyKey, internalKey }: NewJob): KeyName | null {
  if (internalKey !== null) return { topic, key: `o:${internalKey}` }
  return idempotencyKey === null ? null : { topic, key: `i:${idempotencyKey}` }
}

/** Which jobs stand for those that were enqueued. */
export function idsOf(outcomes: readonly EnqueueOutcome[]): JobId[] {
  return outcomes.map(({ id }) => id)
}

export function isKeyed(job: NewJob): boolean {
  return job.unique !== null || job.idempotencyKey !== null || job.internalKey !== null
}
