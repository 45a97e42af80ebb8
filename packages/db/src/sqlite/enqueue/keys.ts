import { type JobId, LIMITS, type NewJob, OncueError } from '@oncue/core'

/** Who has a key now. */
export type Holder = {
  readonly jobId: JobId
  /** It has not begun, so it can still be given another payload. */
  readonly waits: boolean
}

export type KeyRow = { readonly key: string; readonly jobId: JobId; readonly until: number | null }

export type Decided = {
  /** Which job stands for each of those given, in their order. */
  readonly standing: JobId[]
  /** Those that are new. */
  readonly fresh: NewJob[]
  readonly keys: KeyRow[]
  /** What jobs that are there and wait are to become, by id. */
  readonly replacements: Map<JobId, NewJob>
}

export function keysOf(jobs: readonly NewJob[]): string[] {
  return jobs.flatMap((job) => [uniqueKeyOf(job), idempotencyKeyOf(job)]).filter((key) => key !== null)
}

function uniqueKeyOf({ unique }: NewJob): string | null {
  return unique && `u:${unique.key}`
}

function idempotencyKeyOf(job: NewJob): string | null {
  return job.idempotencyKey === null ? null : `i:${job.idempotencyKey}`
}

/** Decides job by job, so that the jobs of one call meet each other as those of many calls would. */
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

  const take = (key: string, jobId: JobId, ms: number | null) => {
    keys.set(key, { key, jobId, until: ms === null ? null : now + ms })
    held.set(key, { jobId, waits: true })
  }

  const add = (job: NewJob) => places.set(job.id, fresh.push(job) - 1)

  const replace = (id: JobId, job: NewJob) => {
    const place = places.get(id) ?? -1
    const before = fresh[place]
    if (before) fresh[place] = replaced(before, job)
    else replacements.set(id, job)
  }

  const stand = (job: NewJob): JobId => {
    const key = uniqueKeyOf(job)
    const holder = key === null ? undefined : held.get(key)
    if (!job.unique || key === null) add(job)
    else if (!holder || holder.jobId === job.id) {
      take(key, job.id, job.unique.withinMs)
      add(job)
    } else if (job.unique.onConflict === 'reject') throw isLive(job.unique.key, holder.jobId)
    else if (job.unique.onConflict === 'existing') return holder.jobId
    else if (holder.waits) {
      replace(holder.jobId, job)
      take(key, holder.jobId, job.unique.withinMs)
      return holder.jobId
    } else {
      // The holder runs already, or is over: the new job takes its place.
      take(key, job.id, job.unique.withinMs)
      add(job)
    }
    return job.id
  }

  const standing = jobs.map((job) => {
    const key = idempotencyKeyOf(job)
    const first = key === null ? undefined : held.get(key)
    if (first && first.jobId !== job.id) return first.jobId
    const id = stand(job)
    // A repeated call must answer what this one answers, also when that is a job of another.
    if (key !== null) take(key, id, LIMITS.idempotencyMs)
    return id
  })
  return { standing, fresh, keys: [...keys.values()], replacements }
}

/** What a replacement brings; everything else stays as it was. */
function replaced(job: NewJob, { payload, priority, runAt, delayMs, meta, trace }: NewJob): NewJob {
  return { ...job, payload, priority, runAt, delayMs, meta, trace }
}

function isLive(key: string, jobId: JobId): OncueError {
  return new OncueError('UNIQUE_KEY_LIVE', `The unique key ${JSON.stringify(key)} is held by another job`, {
    details: { jobId },
  })
}
