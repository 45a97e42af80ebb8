import { type JobId, type NewJob, OncueError } from '@oncue/core'
import { dueQueues } from '../due-queues.ts'
import { inOrder } from '../graph.ts'
import { driveIn, type Step, type Steps, type Transaction } from '../transaction.ts'
import type { PostgresClient } from './client.ts'
import { toOncueError } from './errors.ts'
import { wakeStatements } from './notifier.ts'
import * as sql from './sql.ts'

/** Stores jobs in a transaction of our own. Whom to wake then is the caller's to say. */
export async function enqueueAlone(
  client: PostgresClient,
  jobs: readonly NewJob[],
  now: Date | null,
): Promise<JobId[]> {
  const isPlain =
    jobs.length <= sql.ENQUEUE_CHUNK && jobs.every((job) => !isKeyed(job) && job.after.length === 0)
  const insert = async () => {
    if (!isPlain) return client.drive(() => enqueueSteps(jobs, now))
    await client.queryOnce(sql.enqueue(jobs, now))
    return jobs.map((job) => job.id)
  }
  return insert().catch((error) => insertAgain(client, error, jobs, insert))
}

/** The connection broke and the answer with it: all of them were written, or none. */
async function insertAgain(
  client: PostgresClient,
  error: unknown,
  jobs: readonly NewJob[],
  insert: () => Promise<JobId[]>,
): Promise<JobId[]> {
  if (toOncueError(error).code !== 'DATABASE_UNAVAILABLE') throw error
  const ids = jobs.map((job) => job.id)
  const written = await client.query(sql.known(ids))
  // A keyed job that is not there may stand for another: asking again answers that one.
  if (written.length < ids.length && written.length > 0 && !jobs.some(isKeyed)) {
    throw new OncueError('DUPLICATE_ID', 'Some of these jobs exist already')
  }
  return written.length === ids.length ? ids : insert()
}

/** Stores jobs in the caller's transaction. */
export function enqueueIn(tx: Transaction, jobs: readonly NewJob[], now: Date | null): Promise<JobId[]> {
  return driveIn(tx, enqueueAndWake(jobs, now)).catch((error) => {
    throw toCallersError(error)
  })
}

/** In the caller's transaction an error is the driver's own, but for what only Oncue can tell. */
export function toCallersError(error: unknown): unknown {
  const ours = toOncueError(error)
  return ours.code === 'UNIQUE_KEY_LIVE' || ours.code === 'UNKNOWN_PARENT' ? ours : error
}

/** One NOTIFY for all queues, by the same transaction: nobody is woken before its commit. */
export function* enqueueAndWake(jobs: readonly NewJob[], now: Date | null): Steps<JobId[]> {
  const ids = yield* enqueueSteps(jobs, now)
  for (const statement of wakeStatements(dueQueues(jobs, Date.now()))) yield write(statement)
  return ids
}

/**
 * Everything that storing jobs takes, as statements of one transaction, ours or the caller's. First
 * the jobs with keys, because others may wait for them and the key may be another job's.
 */
function* enqueueSteps(jobs: readonly NewJob[], now: Date | null): Steps<JobId[]> {
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

function isKeyed(job: NewJob): boolean {
  return job.unique !== null || job.idempotencyKey !== null
}

const write = ({ text, values }: sql.Query): Step => ({ text, values, reads: false })
const read = ({ text, values }: sql.Query): Step => ({ text, values, reads: true })
