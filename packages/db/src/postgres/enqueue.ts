import type { JobId, NewJob } from '@oncue/core'
import { inOrder } from '../graph.ts'
import type { Step, Steps } from '../transaction.ts'
import * as sql from './sql.ts'

/**
 * Everything that storing jobs takes, as statements of one transaction, ours or the caller's. First
 * the jobs with keys, because others may wait for them and the key may be another job's.
 */
export function* enqueueSteps(jobs: readonly NewJob[], now: Date | null): Steps<JobId[]> {
  const hasParents = jobs.some((job) => job.after.length > 0)
  if (hasParents) inOrder(jobs)
  const standsFor = yield* enqueueKeyed(jobs, now)
  const standIn = (id: JobId) => standsFor.get(id) ?? id
  const written = jobs
    .filter((job) => standIn(job.id) === job.id)
    .map((job) =>
      job.after.some(isReplaced) ? { ...job, after: [...new Set(job.after.map(standIn))] } : job,
    )
  function isReplaced(id: JobId): boolean {
    return standIn(id) !== id
  }
  const plain = written.filter((job) => !isKeyed(job))
  for (let i = 0; i < plain.length; i += sql.ENQUEUE_CHUNK) {
    yield write(sql.enqueue(plain.slice(i, i + sql.ENQUEUE_CHUNK), now))
  }
  if (hasParents) {
    // Once more: a job that stands for another may close a circle.
    if (standsFor.size > 0) inOrder(written)
    const waiting = written.filter((job) => job.after.length > 0)
    const [edges, link] = sql.link(waiting, now)
    if (edges) yield write(edges)
    // A statement that answers a row: some drivers refuse to execute it as one that does not.
    if (link) yield read(link)
  }
  return jobs.map((job) => standIn(job.id))
}

/** Answers whose place another job has, by the id it would have had. */
function* enqueueKeyed(jobs: readonly NewJob[], now: Date | null): Steps<Map<JobId, JobId>> {
  const keyed = jobs.filter(isKeyed)
  const standsFor = new Map<JobId, JobId>()
  if (keyed.length === 0) return standsFor
  const rows = yield read(sql.enqueueKeyed(keyed, now))
  for (const { n, job_id } of rows) {
    const job = keyed[Number(n)]
    if (job && job.id !== job_id) standsFor.set(job.id, String(job_id))
  }
  return standsFor
}

export function isKeyed(job: NewJob): boolean {
  return job.unique !== null || job.idempotencyKey !== null
}

const write = ({ text, values }: sql.Query): Step => ({ text, values, reads: false })
const read = ({ text, values }: sql.Query): Step => ({ text, values, reads: true })
