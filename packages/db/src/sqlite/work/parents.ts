import { type JobError, type JobId, type NewJob, OncueError, type ParentFailurePolicy } from '@oncue/core'
import { inOrder } from '../../portable/enqueue.ts'
import type { EnqueueOutcome } from '../../store.ts'

/** A job as it enters the live table. */
export type Draft = {
  readonly job: NewJob
  readonly status: 'pending' | 'blocked'
  readonly runAt: number
  readonly visibleAt: number | null
  readonly depsLeft: number
}

/** A job that waits for nothing. */
export function plainDraft(job: NewJob, now: number): Draft {
  const runAt = job.runAt?.getTime() ?? now + job.delayMs
  return { job, status: 'pending', runAt, visibleAt: runAt, depsLeft: 0 }
}

export type ParentStatus = 'live' | 'completed' | 'failed' | 'cancelled'

type Edge = { readonly jobId: JobId; readonly parentId: JobId; readonly policy: ParentFailurePolicy }

/** A job that ends before it could start. */
export type Ended = {
  readonly draft: Draft
  readonly status: 'failed' | 'cancelled'
  /** It runs when its batch fails, which has completed. */
  readonly isNotNeeded?: boolean
}

/** The same error as release_dependants of Postgres writes. */
export const PARENT_FAILED: JobError = {
  class: 'ParentFailed',
  message: 'A job that this one waits for did not complete',
  code: 'PARENT_FAILED',
  fingerprint: 'PARENT_FAILED',
}

type Placed = {
  readonly drafts: Draft[]
  readonly edges: Edge[]
  readonly ended: Ended[]
}

/** Where a job of the same call was not made, because another holds its key, that other job is the parent. */
export function meantParents(
  jobs: readonly NewJob[],
  outcomes: readonly EnqueueOutcome[],
  fresh: readonly NewJob[],
): NewJob[] {
  const meant = new Map(jobs.map((job, n) => [job.id, outcomes[n]?.id ?? job.id]))
  return fresh.map((job) =>
    job.after.length === 0
      ? job
      : { ...job, after: [...new Set(job.after.map((parent) => meant.get(parent) ?? parent))] },
  )
}

/** The parents that are not new themselves. */
export function outsideParents(fresh: readonly NewJob[]): JobId[] {
  const own = new Set(fresh.map((job) => job.id))
  return [...new Set(fresh.flatMap((job) => job.after))].filter((parent) => !own.has(parent))
}

/**
 * The outcome for each job, given the state of its parents and the run that it replaces: it is blocked, it may
 * run, or it ends too.
 */
export function place(
  fresh: readonly NewJob[],
  outside: ReadonlyMap<JobId, ParentStatus>,
  replacedRuns: ReadonlyMap<JobId, JobId>,
  now: number,
): Placed {
  const statuses = new Map(outside)
  const placed: Placed = { drafts: [], edges: [], ended: [] }
  for (const job of inOrder(fresh)) {
    const parents = job.after.map((id) => ({ id, status: statuses.get(id) ?? unknown(id) }))
    const waitsFor = parents.filter(
      ({ status }) => status === 'live' || (status !== 'completed' && job.onParentFailure === 'wait'),
    )
    const stopped =
      parents.some(({ status }) => status === 'failed' || status === 'cancelled') && ENDS[job.onParentFailure]
    const plain = plainDraft(job, now)
    if (stopped) {
      statuses.set(job.id, stopped)
      placed.ended.push({ draft: plain, status: stopped })
      continue
    }
    if (isNotNeeded(job, parents)) {
      statuses.set(job.id, 'cancelled')
      placed.ended.push({ draft: plain, status: 'cancelled', isNotNeeded: true })
      continue
    }
    statuses.set(job.id, 'live')
    const edges = edgesOf(
      job,
      waitsFor.map(({ id }) => id),
      replacedRuns.get(job.id),
    )
    placed.edges.push(...edges)
    placed.drafts.push(after(plain, job.after.length, edges.length, now))
  }
  return placed
}

/** See decide_batches of Postgres. */
function isNotNeeded({ flow }: NewJob, parents: readonly { readonly status: ParentStatus }[]): boolean {
  return flow?.kind === 'on_failure' && parents.every(({ status }) => status === 'completed')
}

const ENDS: Record<ParentFailurePolicy, 'failed' | 'cancelled' | null> = {
  wait: null,
  go_on: null,
  stop: 'failed',
  cancel: 'cancelled',
}

/** However that run ends, the job may run afterwards: also when the run is a parent too. */
function edgesOf({ id, onParentFailure }: NewJob, parents: readonly JobId[], run: JobId | undefined): Edge[] {
  const edges = parents
    .filter((parent) => parent !== run)
    .map((parentId): Edge => ({ jobId: id, parentId, policy: onParentFailure }))
  return run === undefined ? edges : [{ jobId: id, parentId: run, policy: 'go_on' }, ...edges]
}

function after(draft: Draft, parents: number, left: number, now: number): Draft {
  if (parents === 0 && left === 0) return draft
  if (left > 0) return { ...draft, status: 'blocked', visibleAt: null, depsLeft: left }
  return { ...draft, visibleAt: Math.max(draft.runAt, now) }
}

function unknown(jobId: JobId): never {
  throw new OncueError('UNKNOWN_PARENT', `There is no job ${jobId} to wait for`, { details: { jobId } })
}
