import type { JobId, NewJob } from '@oncue/core'
import type { Runtime } from '@oncue/runtime'
import {
  assertNoCycle,
  flowRows,
  inOrder,
  isKeyed,
  isPlain,
  outcomesOf,
  wakeNames,
  withoutKnown,
} from '../portable/enqueue.ts'
import { driveIn, type Step, type Steps, type Transaction } from '../queue/transaction.ts'
import { type Rename, renamed } from '../schema.ts'
import type { EnqueueOutcome } from '../store.ts'
import type { PostgresClient } from './client.ts'
import { toOncueError } from './errors.ts'
import { wakeStatements } from './notifier.ts'
import * as sql from './sql.ts'

/** Stores jobs in a transaction of our own. Unless they are `announced`, the caller wakes workers afterwards. */
export async function enqueueAlone(
  client: PostgresClient,
  jobs: readonly NewJob[],
  now: Date | null,
  announced = false,
): Promise<EnqueueOutcome[]> {
  if (jobs.some((job) => job.request)) return enqueueRequested(client, jobs, now)
  return insert(client, jobs, now, announced).catch((error) => {
    if (toOncueError(error).code !== 'DATABASE_UNAVAILABLE') throw error
    return insertAgain(client, jobs, now, announced)
  })
}

/** Whether workers can be notified by the statement that stores these jobs. */
export function canAnnounce(jobs: readonly NewJob[]): boolean {
  return arePlain(jobs) && sql.canAnnounce(jobs)
}

function arePlain(jobs: readonly NewJob[]): boolean {
  return jobs.length <= sql.ENQUEUE_CHUNK && jobs.every(isPlain)
}

async function insert(
  client: PostgresClient,
  jobs: readonly NewJob[],
  now: Date | null,
  announced = false,
): Promise<EnqueueOutcome[]> {
  if (!arePlain(jobs)) return client.drive(() => enqueueSteps(jobs, now))
  await client.queryOnce(sql.enqueue(jobs, now, announced))
  return jobs.map(created)
}

/** The connection broke before the result arrived: all jobs were written, or none, or they are about to be. */
async function insertAgain(
  client: PostgresClient,
  jobs: readonly NewJob[],
  now: Date | null,
  announced: boolean,
): Promise<EnqueueOutcome[]> {
  let written = await knownOf(client, jobs)
  if (written.size === 0) {
    try {
      return await insert(client, jobs, now, announced)
    } catch (error) {
      if (toOncueError(error).code !== 'DUPLICATE_ID') throw error
      // The server continued with what it had received, and finished in the meantime.
      written = await knownOf(client, jobs)
    }
  }
  // A keyed job that is missing was replaced by the holder of its key: a repeat returns which. Any other that is
  // missing was written with the rest, and has been deleted since.
  const missing = jobs.filter((job) => isKeyed(job) && !written.has(job.id))
  const outcomes = missing.length > 0 ? await insert(client, missing, now) : []
  const outcomeOf = new Map(missing.map((job, n) => [job.id, outcomes[n]]))
  return jobs.map((job) => outcomeOf.get(job.id) ?? created(job))
}

/**
 * Races with another process, and with a job that moves between live and history, are resolved by the second
 * attempt.
 */
const ATTEMPTS = 4

/**
 * With jobs whose ids come from requests. A first request is expected to be new: one insert, which fails if it is not,
 * or if its job has finished. Only then, and for repeats, it is looked up which ids are known: one statement, so that
 * it sees each job in one place.
 */
async function enqueueRequested(
  client: PostgresClient,
  jobs: readonly NewJob[],
  now: Date | null,
): Promise<EnqueueOutcome[]> {
  assertNoCycle(jobs)
  let asked = jobs.filter((job) => job.request === 'repeat')
  for (let attempt = 1; ; attempt++) {
    const known = asked.length > 0 ? await knownOf(client, asked) : new Set<JobId>()
    // No other call has an id that was made for this one: if one exists, all of them were written.
    const wasWritten = jobs.some((job) => !job.request && known.has(job.id))
    const unknown = withoutKnown(jobs, known)
    // Sorted: two calls with the same ids would otherwise deadlock.
    const left = (wasWritten ? unknown.filter(isKeyed) : unknown).toSorted(byId)
    try {
      const outcomes = left.length > 0 ? await insert(client, left, now) : []
      return outcomesOf(jobs, left, outcomes, wasWritten ? 'created' : 'existing')
    } catch (error) {
      const { code } = toOncueError(error)
      const isUncertain = code === 'DUPLICATE_ID' || code === 'DATABASE_UNAVAILABLE'
      if (!isUncertain || attempt === ATTEMPTS) throw error
      asked = [...jobs]
    }
  }
}

const byId = (one: NewJob, other: NewJob) => (one.id < other.id ? -1 : 1)

async function knownOf(client: PostgresClient, jobs: readonly NewJob[]): Promise<Set<JobId>> {
  const rows = await client.query(sql.known(jobs.map((job) => job.id)))
  return new Set(rows.map(([id]) => String(id)))
}

function created({ id }: Pick<NewJob, 'id'>): EnqueueOutcome {
  return { id, kind: 'created' }
}

/** Stores jobs in the caller's transaction. */
export function enqueueIn(
  tx: Transaction,
  jobs: readonly NewJob[],
  now: Date | null,
  runtime: Runtime,
  rename: Rename,
): Promise<EnqueueOutcome[]> {
  return driveIn(tx, renamed(enqueueAndWake(jobs, now, runtime), rename)).catch((error) => {
    throw toCallersError(error)
  })
}

/** In the caller's transaction an error is the driver's own, except where Oncue raised it. */
export function toCallersError(error: unknown): unknown {
  const ours = toOncueError(error)
  return ours.code === 'UNIQUE_KEY_LIVE' || ours.code === 'UNKNOWN_PARENT' ? ours : error
}

/** One NOTIFY for all names, in the same transaction: workers wake up at its commit. */
export function* enqueueAndWake(
  jobs: readonly NewJob[],
  now: Date | null,
  runtime: Runtime,
): Steps<EnqueueOutcome[]> {
  const outcomes = yield* enqueueSteps(jobs, now)
  for (const statement of wakeStatements(wakeNames(jobs, runtime.now()))) yield write(statement)
  return outcomes
}

/**
 * All statements that storing jobs takes, for one transaction, ours or the caller's. Jobs with keys come
 * first, because others may wait for them, and the key may belong to another job.
 */
function* enqueueSteps(jobs: readonly NewJob[], now: Date | null): Steps<EnqueueOutcome[]> {
  const hasParents = jobs.some((job) => job.after.length > 0)
  assertNoCycle(jobs)
  const outcomes = yield* enqueueKeyed(jobs, now)
  const standIn = (id: JobId) => outcomes.get(id)?.id ?? id
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
  const places = flowRows(jobs, standIn)
  if (places.length > 0) yield write(sql.keepFlow(places))
  if (hasParents) {
    // Checked again: a key that stands for another job may close a cycle.
    if (outcomes.size > 0) inOrder(written)
    const waiting = written.filter((job) => job.after.length > 0)
    const [edges, link] = sql.link(waiting, now)
    if (edges) yield write(edges)
    // Jobs with keys were written before it was known which of their parents are the same job, or the run that
    // they replace.
    const given = new Set(jobs)
    const recounted = waiting.filter((job) => isKeyed(job) && !given.has(job))
    if (recounted.length > 0) yield write(sql.recountParents(recounted))
    // It returns a row, because some drivers refuse a statement without one.
    if (link) yield read(link)
  }
  return jobs.map((job) => outcomes.get(job.id) ?? created(job))
}

/** The outcome for jobs with a key, by the id that each would have had. */
function* enqueueKeyed(jobs: readonly NewJob[], now: Date | null): Steps<Map<JobId, EnqueueOutcome>> {
  const keyed = jobs.filter(isKeyed)
  const outcomes = new Map<JobId, EnqueueOutcome>()
  if (keyed.length === 0) return outcomes
  const rows = yield read(sql.enqueueKeyed(keyed, now))
  for (const { n, job_id, outcome } of rows) {
    const job = keyed[Number(n)]
    if (job) outcomes.set(job.id, { id: String(job_id), kind: outcome as EnqueueOutcome['kind'] })
  }
  const requested = keyed.filter((job) => job.request && outcomes.get(job.id)?.kind === 'created')
  if (requested.length > 0) yield read(sql.refuseFinished(requested.map((job) => job.id)))
  return outcomes
}

const write = ({ text, values }: sql.Query): Step => ({ text, values, reads: false })
const read = ({ text, values }: sql.Query): Step => ({ text, values, reads: true })
