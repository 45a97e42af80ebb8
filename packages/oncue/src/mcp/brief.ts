import type { JobError } from '@oncue/core'
import type { BulkOperation, FoundJobs, Health, QueueOverview } from '@oncue/core/wire'
import type { Client } from '@oncue/sdk'

/** Answers are read by a model, which pays for each word: what is empty, long or for charts is left out. */

type Job = Awaited<ReturnType<Client['jobs']['get']>>
type Listed = Awaited<ReturnType<Client['jobs']['list']>>['items'][number]

/** JSON without what says nothing: null, empty lists and objects. */
export function toText(value: unknown): string {
  return JSON.stringify(prune(value)) ?? 'null'
}

function prune(value: unknown): unknown {
  if (value instanceof Date || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(prune)
  const kept = Object.entries(value).map(([key, each]) => [key, prune(each)] as const)
  return Object.fromEntries(kept.filter(([, each]) => !saysNothing(each)))
}

const saysNothing = (value: unknown) =>
  value === null ||
  value === undefined ||
  (typeof value === 'object' && !(value instanceof Date) && Object.keys(value).length === 0)

/** Says how much of it is missing, so that it is not taken for the whole. */
export function cut(text: string, length: number): string {
  const left = text.length - length
  return left > 0 ? `${text.slice(0, length)}… (${left.toLocaleString('en-US')} characters left out)` : text
}

/** Data of a job: as it is if it is short, else the beginning of its JSON. */
export function cutData(data: unknown, length: number): unknown {
  const json = JSON.stringify(data) ?? 'null'
  return json.length > length ? cut(json, length) : data
}

export const errorLine = (error: Partial<JobError> | null, length = 300) =>
  error && cut(`${error.class ?? 'Error'}: ${error.message ?? ''}`, length)

export function briefJob(job: Listed) {
  const { id, topic, queue, status, created, visibleAt, finishedAt, run, retries, maxRetries } = job
  return {
    ...{ id, topic, queue, status, created, due: visibleAt, finishedAt, run },
    retries: retries > 0 ? `${retries} of ${maxRetries}` : null,
    error: errorLine(job.lastError, 200),
    meta: cutData(job.meta, 200),
  }
}

export function fullJob(job: Job) {
  const { parentId, lockedBy, startedAt, cancelAt, waits, ending, crashes, uniqueKey, concurrencyKey } = job
  const stack = job.lastError?.stack
  return {
    ...briefJob(job),
    ...{ priority: job.priority, startedAt, worker: lockedBy, cancelAt, parentId, waits, ending },
    ...{ crashes, uniqueKey, concurrencyKey, progress: cutData(job.progress, 500) },
    error: errorLine(job.lastError, 1_000),
    causes: job.lastError?.causes?.map((cause) => errorLine(cause)),
    fingerprint: job.lastError?.fingerprint,
    stack: stack && cut(stack, 1_500),
  }
}

export function briefQueue({ paused, limit, ...counts }: QueueOverview) {
  return { ...counts, paused, limit, ageingMs: undefined }
}

export function briefHealth(health: Health) {
  const { summary, environment, dialect, version, workers, alerts, questions, thresholds } = health
  return {
    ...{ level: summary.level, summary: summary.text, environment, dialect, version },
    backlog: health.backlog.value,
    oldestWaiting: health.oldestWaiting.value,
    perMinute: health.throughput.value,
    failureRate: health.failureRate.value,
    workers: { ...workers, spark: undefined },
    queues: health.queues.slice(0, 10).map(({ spark: _, ...queue }) => queue),
    moreQueues: health.queues.length + health.others.queues - Math.min(10, health.queues.length),
    failures: health.failures.map(({ class: name, message, ...group }) => ({
      ...group,
      error: errorLine({ class: name, message }),
    })),
    ...{ alerts, questions, thresholds, bulkOperations: health.bulkOperations },
  }
}

export function briefBulk(operation: BulkOperation) {
  const { id, action, status, filter, asOf, total, totalIsExact, done, skipped, outcomes } = operation
  const { error, by, stoppedBy, created, finishedAt } = operation
  return {
    ...{ id, action, status, filter, asOf, total, atLeast: totalIsExact ? null : true, done, skipped },
    ...{ outcomes, error, by: by.name, stoppedBy, created, finishedAt },
  }
}

export function briefFound({ byStatus, byError, errorKinds, inspected, sample }: FoundJobs) {
  return {
    ...{ byStatus, errorKinds, inspected },
    byError: byError.slice(0, 5).map(({ class: name, message, count }) => ({
      count,
      error: errorLine({ class: name, message }),
    })),
    sample: sample.slice(0, 10).map(({ id, topic, queue, status }) => ({ id, topic, queue, status })),
  }
}
