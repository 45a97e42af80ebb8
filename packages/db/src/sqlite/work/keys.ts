import { type JobId, LIMITS, type NewJob, OncueError } from '@oncue/core'
import { jobColumns } from '../../job-columns.ts'
import { type KeyName, onceKeyOf, uniqueKeyOf } from '../../portable/enqueue.ts'
import type { EnqueueOutcome } from '../../store.ts'

/** The job that holds a key now. */
export type Holder = {
  readonly jobId: JobId
  /** Null: it has ended. */
  readonly status: 'blocked' | 'pending' | 'processing' | null
  /** Null: the job no longer exists. */
  readonly queue: string | null
  /** It has run and waits: 1 or 0. */
  readonly isSuspended?: number
}

export type KeyRow = KeyName & { readonly jobId: JobId; readonly until: number | null }

type Decided = {
  /** The outcome for each of the given jobs, in their order. */
  readonly outcomes: EnqueueOutcome[]
  /** The new jobs. */
  readonly fresh: NewJob[]
  readonly keys: KeyRow[]
  /** The new values of waiting jobs that are replaced, by id. */
  readonly replacements: Map<JobId, NewJob>
  /** Running jobs, and the jobs that replace them. */
  readonly successors: Map<JobId, NewJob>
  /** Jobs that were replaced while they waited, once for each time. */
  readonly replaced: JobId[]
}

/** The key of the map of holders and decisions: no key contains a NUL. */
export function nameOf({ topic, key }: KeyName): string {
  return `${topic}\0${key}`
}

export function keysOf(jobs: readonly NewJob[]): KeyName[] {
  return jobs.flatMap((job) => [uniqueKeyOf(job), onceKeyOf(job)]).filter((key) => key !== null)
}

/** Decides job by job, so that the jobs of one call affect each other as those of many calls would. */
export function decideKeys(
  jobs: readonly NewJob[],
  holders: ReadonlyMap<string, Holder>,
  now: number,
): Decided {
  const held = new Map(holders)
  const keys = new Map<string, KeyRow>()
  const fresh: NewJob[] = []
  const places = new Map<JobId, number>()
  const replacements = new Map<JobId, NewJob>()
  const successors = new Map<JobId, NewJob>()
  const replaced: JobId[] = []
  const queues = new Map<JobId, string | null>()
  for (const { jobId, queue } of holders.values()) queues.set(jobId, queue)
  for (const { id, queue } of jobs) queues.set(id, queue)

  const take = (name: KeyName, jobId: JobId, ms: number | null) => {
    keys.set(nameOf(name), { ...name, jobId, until: ms === null ? null : now + ms })
    held.set(nameOf(name), { jobId, status: 'pending', queue: queues.get(jobId) ?? null })
  }

  const create = (job: NewJob): EnqueueOutcome => {
    places.set(job.id, fresh.push(job) - 1)
    return { id: job.id, kind: 'created' }
  }

  const replace = (id: JobId, job: NewJob): EnqueueOutcome => {
    const place = places.get(id) ?? -1
    const before = fresh[place]
    if (before) fresh[place] = withReplacement(before, job)
    else replacements.set(id, job)
    replaced.push(id)
    return { id, kind: 'replaced' }
  }

  const enqueueUnique = (job: NewJob): EnqueueOutcome => {
    const name = uniqueKeyOf(job)
    if (!job.unique || !name) return create(job)
    const { onConflict, withinMs } = job.unique
    const holder = held.get(nameOf(name))
    if (holder && holder.jobId !== job.id) {
      assertQueue(job, holder)
      if (onConflict === 'reject') throw isLive(job.unique.key, holder.jobId)
      if (onConflict === 'existing') return { id: holder.jobId, kind: 'existing' }
      if (holder.isSuspended) throw isSuspended(job.unique.key, holder.jobId)
      if (holder.status === 'pending' || holder.status === 'blocked') {
        take(name, holder.jobId, withinMs)
        return replace(holder.jobId, job)
      }
      // It already runs, or has ended: the new job replaces it.
      if (holder.status === 'processing') successors.set(holder.jobId, job)
    }
    take(name, job.id, withinMs)
    return create(job)
  }

  const outcomes = jobs.map((job): EnqueueOutcome => {
    const name = onceKeyOf(job)
    const first = name ? held.get(nameOf(name)) : undefined
    if (first && first.jobId !== job.id) {
      assertQueue(job, first)
      return { id: first.jobId, kind: 'existing' }
    }
    const outcome = enqueueUnique(job)
    // A repeated call must return what this one returns, even if that is another caller's job.
    if (name) take(name, outcome.id, LIMITS.idempotencyMs)
    return outcome
  })
  return { outcomes, fresh, keys: [...keys.values()], replacements, successors, replaced }
}

const REPLACED = jobColumns('replace').map(({ field }) => field as keyof NewJob)

/** The columns that a replacement sets; all others stay. */
function withReplacement(job: NewJob, replacement: NewJob): NewJob {
  const { runAt, delayMs } = replacement
  const brought = Object.fromEntries(REPLACED.map((field) => [field, replacement[field]]))
  return { ...job, ...brought, runAt, delayMs }
}

/** Does not name the job: the caller may not know of it. */
function assertQueue({ queue, sameQueue }: NewJob, holder: Holder): void {
  if (!sameQueue || holder.queue === null || holder.queue === queue) return
  const message = 'A job in another queue has this key, and the caller may not enqueue into that queue'
  throw new OncueError('QUEUE_NOT_ALLOWED', message)
}

function isSuspended(key: string, jobId: JobId): OncueError {
  const message = `The unique key ${JSON.stringify(key)} is held by a job that is suspended or has something to undo: it cannot be replaced`
  const hint = 'It has run: let it go on, cancel it, or use its id.'
  return new OncueError('UNIQUE_KEY_LIVE', message, { details: { jobId }, hint })
}

function isLive(key: string, jobId: JobId): OncueError {
  return new OncueError('UNIQUE_KEY_LIVE', `The unique key ${JSON.stringify(key)} is held by another job`, {
    details: { jobId },
  })
}
