import type { JobId, NewJob } from '@oncue/core'
import { enqueuedColumns } from '../../job-columns.ts'
import { isInline, isKeyed, type KeyName } from '../../portable/enqueue.ts'
import type { Row, Statement, Step, Steps } from '../../queue/transaction.ts'
import type { EnqueueOutcome } from '../../store.ts'
import { APPEND_EVENT } from '../sql-ends.ts'
import { FORGET_META, NOTE_META, NOTE_META_OF_ENDED } from '../sql-meta.ts'
import { Tally } from '../tally.ts'
import { insertJobs, insertPayload, plainDraft } from './insert.ts'
import { decideKeys, type Holder, type KeyRow, keysOf, nameOf } from './keys.ts'
import {
  type Edge,
  type Ended,
  meantParents,
  outsideParents,
  PARENT_FAILED,
  type ParentStatus,
  place,
} from './parents.ts'
import * as sql from './sql.ts'

/**
 * Everything an enqueue does, for our own connection and for the caller's: it reads what it needs,
 * decides, and only then writes, so that what it refuses leaves nothing behind in a transaction that
 * is not ours to roll back. Between the reading and the writing nobody else writes: SQLite refuses
 * to write in a transaction whose view of the file is no longer the latest.
 */
export function* enqueueSteps(jobs: readonly NewJob[], now: number): Steps<EnqueueOutcome[]> {
  if (jobs.every(isPlain)) {
    const drafts = jobs.map((job) => plainDraft(job, now))
    yield* writes(insertJobs(drafts, now))
    return jobs.map(({ id }) => ({ id, kind: 'created' }))
  }
  const decided = decideKeys(jobs, yield* holders(keysOf(jobs), now), now)
  const fresh = meantParents(jobs, decided.outcomes, decided.fresh)
  const replacedRuns = new Map<JobId, JobId>()
  for (const [running, { id, unique }] of decided.successors)
    if (unique?.ifRunning === 'wait') replacedRuns.set(id, running)
  const { drafts, edges, ended } = place(fresh, yield* statuses(outsideParents(fresh)), replacedRuns, now)
  const over = new Set(ended.map(({ draft }) => draft.job.id))
  const keys = decided.keys.map((key) => (over.has(key.jobId) ? givenBack(key, replacedRuns) : key))
  // A key that goes with its job is gone with one that is over already, whoever had it before.
  const isGone = ({ jobId, until }: KeyRow) => until === null && over.has(jobId)
  yield* writes([
    ...insertJobs(drafts, now),
    ...insertEdges(edges),
    ...insertKeys(keys.filter((key) => !isGone(key))),
    ...dropKeys(keys.filter(isGone)),
    ...[...decided.replacements].flatMap(([id, job]) => replace(id, job, now)),
    ...decided.replaced.map((id) => appendReplaced(id, null, now)),
    ...[...decided.successors].flatMap(([running, { id }]) => [
      { text: sql.SUPERSEDE, values: [id, now, running] },
      appendReplaced(running, { jobId: id }, now),
    ]),
    ...insertEnded(ended, now),
  ])
  return decided.outcomes
}

function isPlain(job: NewJob): boolean {
  return !isKeyed(job) && job.after.length === 0
}

/** A job that is over before it could replace a run leaves that run its key. */
function givenBack(key: KeyRow, replacedRuns: ReadonlyMap<JobId, JobId>): KeyRow {
  const run = key.key.startsWith('u:') ? replacedRuns.get(key.jobId) : undefined
  return run === undefined ? key : { ...key, jobId: run }
}

function appendReplaced(id: JobId, data: object | null, now: number): Statement {
  return { text: APPEND_EVENT, values: [id, id, 'replaced', data && JSON.stringify(data), now] }
}

function* holders(keys: readonly KeyName[], now: number): Steps<Map<string, Holder>> {
  const names = keys.map(({ topic, key }) => [topic, key])
  const rows: Row[] = names.length === 0 ? [] : yield read(sql.HOLDERS, [JSON.stringify(names), now])
  return new Map(
    rows.map(({ topic, key, job_id, status, queue }) => [
      nameOf({ topic: String(topic), key: String(key) }),
      {
        jobId: String(job_id),
        status: status as Holder['status'],
        queue: queue as Holder['queue'],
      },
    ]),
  )
}

function* statuses(ids: readonly JobId[]): Steps<Map<JobId, ParentStatus>> {
  const rows: Row[] = ids.length === 0 ? [] : yield read(sql.PARENTS, [JSON.stringify(ids)])
  return new Map(rows.map(({ id, status }) => [String(id), status as ParentStatus]))
}

function read(text: string, values: unknown[]): Step {
  return { text, values, reads: true }
}

function* writes(statements: readonly Statement[]): Steps<void> {
  for (const { text, values } of statements) yield { text, values, reads: false }
}

function insertEdges(edges: readonly Edge[]): Statement[] {
  if (edges.length === 0) return []
  const rows = edges.map(({ jobId, parentId, policy }) => [jobId, parentId, policy])
  return [{ text: sql.INSERT_EDGES, values: [JSON.stringify(rows)] }]
}

function insertKeys(keys: readonly KeyRow[]): Statement[] {
  if (keys.length === 0) return []
  const rows = keys.map(({ topic, key, jobId, until }) => [topic, key, jobId, until])
  return [{ text: sql.INSERT_KEYS, values: [JSON.stringify(rows)] }]
}

function dropKeys(keys: readonly KeyRow[]): Statement[] {
  if (keys.length === 0) return []
  return [{ text: sql.DROP_KEYS, values: [JSON.stringify(keys.map(({ topic, key }) => [topic, key]))] }]
}

const ENQUEUED = enqueuedColumns()
const REPLACED = enqueuedColumns('replace')

function replace(id: JobId, job: NewJob, now: number): Statement[] {
  const { runAt } = plainDraft(job, now)
  const ids = JSON.stringify([id])
  return [
    { text: FORGET_META, values: [ids] },
    {
      text: sql.REPLACE,
      values: [...REPLACED.map(({ enqueue }) => enqueue(job)), runAt, now, runAt, now, runAt, id],
    },
    { text: NOTE_META, values: [ids] },
    { text: sql.DROP_PAYLOAD, values: [id] },
    ...(isInline(job.payload) ? [] : [insertPayload(id, job.payload)]),
  ]
}

/** Jobs that are over as they come, because a parent is: straight to history. */
function insertEnded(ended: readonly Ended[], now: number): Statement[] {
  if (ended.length === 0) return []
  const tally = new Tally(now)
  const statements = ended.flatMap(({ draft: { job, runAt }, status }) => {
    tally.count(job.queue, job.topic, status, 1)
    const error = status === 'failed' ? PARENT_FAILED : null
    const values = [
      ...ENQUEUED.map(({ enqueue }) => enqueue(job)),
      ...[
        runAt === now ? null : runAt,
        now,
        now,
        status,
        error && JSON.stringify(error),
        error?.fingerprint ?? null,
      ],
    ]
    const insert = { text: sql.INSERT_ENDED, values }
    return isInline(job.payload) ? [insert] : [insert, insertPayload(job.id, job.payload)]
  })
  const ids = JSON.stringify(ended.map(({ draft }) => draft.job.id))
  return [...statements, { text: NOTE_META_OF_ENDED, values: [ids] }, ...tally.statements()]
}
