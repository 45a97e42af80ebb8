import { type JobError, type JobId, type NewJob, OncueError, type ParentFailurePolicy } from '@oncue/core'
import { inOrder } from '../../graph.ts'
import { type Draft, plainDraft } from './insert.ts'

export type ParentStatus = 'live' | 'completed' | 'failed' | 'cancelled'

export type Edge = { readonly jobId: JobId; readonly parentId: JobId; readonly policy: ParentFailurePolicy }

/** A job that is over before it could begin. */
export type Ended = { readonly draft: Draft; readonly status: 'failed' | 'cancelled' }

/** As release_dependants_v1 of Postgres writes it. */
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

/** Where a job of the same call was not made, because another holds its key, that other is meant. */
export function meantParents(
  jobs: readonly NewJob[],
  standing: readonly JobId[],
  fresh: readonly NewJob[],
): NewJob[] {
  const meant = new Map(jobs.map((job, n) => [job.id, standing[n] ?? job.id]))
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

/** What becomes of each job, given how its parents are: it waits, it may run, or it is over too. */
export function place(
  fresh: readonly NewJob[],
  outside: ReadonlyMap<JobId, ParentStatus>,
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
    statuses.set(job.id, 'live')
    placed.drafts.push(after(plain, job.after.length, waitsFor.length, now))
    for (const { id } of waitsFor)
      placed.edges.push({ jobId: job.id, parentId: id, policy: job.onParentFailure })
  }
  return placed
}

const ENDS: Record<ParentFailurePolicy, 'failed' | 'cancelled' | null> = {
  wait: null,
  go_on: null,
  stop: 'failed',
  cancel: 'cancelled',
}

function after(draft: Draft, parents: number, left: number, now: number): Draft {
  if (parents === 0) return draft
  if (left > 0) return { ...draft, status: 'blocked', visibleAt: null, depsLeft: left }
  return { ...draft, visibleAt: Math.max(draft.runAt, now) }
}

function unknown(jobId: JobId): never {
  throw new OncueError('UNKNOWN_PARENT', `There is no job ${jobId} to wait for`, { details: { jobId } })
}
