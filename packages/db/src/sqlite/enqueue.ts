import type { JobId, NewJob } from '@oncue/core'
import { enqueuedColumns } from '../job-columns.ts'
import {
  assertNoCycle,
  flowRows,
  isInline,
  isPlain,
  type KeyName,
  NOT_NEEDED,
  outcomesOf,
  withoutKnown,
} from '../portable/enqueue.ts'
import type { Row, Statement, Step, Steps } from '../queue/transaction.ts'
import type { EnqueueOutcome } from '../store.ts'
import * as sql from './sql.ts'
import { FORGET_ASKS, FORGET_REPLACED } from './sql-durable.ts'
import { Tally } from './stats.ts'
import { decideKeys, type Holder, type KeyRow, keysOf, nameOf } from './work/keys.ts'
import {
  type Draft,
  type Ended,
  meantParents,
  outsideParents,
  PARENT_FAILED,
  type ParentStatus,
  place,
  plainDraft,
} from './work/parents.ts'

/**
 * All of an enqueue, for our own connection and for the caller's: it reads what it needs,
 * decides, and only then writes, so that a refusal leaves nothing behind in a transaction that
 * is not ours to roll back. No other connection writes between the reads and the writes: SQLite
 * refuses to write in a transaction whose snapshot is no longer the latest.
 */
export function* enqueueSteps(jobs: readonly NewJob[], now: number): Steps<EnqueueOutcome[]> {
  assertNoCycle(jobs)
  const requested = jobs.filter((job) => job.request).map(({ id }) => id)
  if (requested.length === 0) return yield* enqueueNew(jobs, now)
  const known = yield* statuses(requested)
  const fresh = withoutKnown(jobs, new Set(known.keys()))
  return outcomesOf(jobs, fresh, fresh.length > 0 ? yield* enqueueNew(fresh, now) : [])
}

function* enqueueNew(jobs: readonly NewJob[], now: number): Steps<EnqueueOutcome[]> {
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
  // A key that ends with its job is not taken for a job that has ended already.
  const isGone = ({ jobId, until }: KeyRow) => until === null && over.has(jobId)
  const meant = new Map(jobs.map((job, n) => [job.id, decided.outcomes[n]?.id ?? job.id]))
  yield* writes([
    ...insertJobs(drafts, now),
    ...each(
      sql.KEEP_FLOW,
      flowRows(jobs, (id) => meant.get(id) ?? id),
      (row) => row,
    ),
    ...each(sql.INSERT_EDGES, edges, ({ jobId, parentId, policy }) => [jobId, parentId, policy]),
    ...each(
      sql.INSERT_KEYS,
      keys.filter((key) => !isGone(key)),
      ({ topic, key, jobId, until }) => [topic, key, jobId, until],
    ),
    ...each(sql.DROP_KEYS, keys.filter(isGone), ({ topic, key }) => [topic, key]),
    ...[...decided.replacements].flatMap(([id, job]) => replace(id, job, now)),
    ...decided.replaced.flatMap((id) => [
      { text: FORGET_REPLACED, values: [id, id] },
      { text: FORGET_ASKS, values: [id] },
    ]),
    ...decided.replaced.map((id) => appendReplaced(id, null, now)),
    ...[...decided.successors].flatMap(([running, { id }]) => [
      { text: sql.SUPERSEDE, values: [id, now, running] },
      appendReplaced(running, { jobId: id }, now),
    ]),
    ...insertEnded(ended, now),
  ])
  return decided.outcomes
}

/** A job that ends before it could replace a run leaves the key to that run. */
function givenBack(key: KeyRow, replacedRuns: ReadonlyMap<JobId, JobId>): KeyRow {
  const run = key.key.startsWith('u:') ? replacedRuns.get(key.jobId) : undefined
  return run === undefined ? key : { ...key, jobId: run }
}

function appendReplaced(id: JobId, data: object | null, now: number): Statement {
  return { text: sql.APPEND_EVENT, values: [id, id, 'replaced', data && JSON.stringify(data), now] }
}

function* holders(keys: readonly KeyName[], now: number): Steps<Map<string, Holder>> {
  const names = keys.map(({ topic, key }) => [topic, key])
  const rows: Row[] = names.length === 0 ? [] : yield read(sql.HOLDERS, [JSON.stringify(names), now])
  return new Map(
    rows.map(({ topic, key, job_id, status, queue, is_suspended }) => [
      nameOf({ topic: String(topic), key: String(key) }),
      { jobId: job_id, status, queue, isSuspended: is_suspended } as Holder,
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

/** One statement for all of these, if there are any. */
function each<Item>(
  text: string,
  items: readonly Item[],
  toRow: (item: Item) => readonly unknown[],
): Statement[] {
  return items.length === 0 ? [] : [{ text, values: [JSON.stringify(items.map(toRow))] }]
}

const ENQUEUED = enqueuedColumns()
const REPLACED = enqueuedColumns('replace')

function replace(id: JobId, job: NewJob, now: number): Statement[] {
  const { runAt } = plainDraft(job, now)
  const ids = JSON.stringify([id])
  return [
    { text: sql.FORGET_META, values: [ids] },
    {
      text: sql.REPLACE,
      values: [...REPLACED.map(({ enqueue }) => enqueue(job)), runAt, now, runAt, now, runAt, id],
    },
    { text: sql.NOTE_META, values: [ids] },
    { text: sql.DROP_PAYLOAD, values: [id] },
    ...(isInline(job.payload) ? [] : [insertPayload(id, job.payload)]),
  ]
}

/** Jobs that end at once, because a parent has: straight to history. */
function insertEnded(ended: readonly Ended[], now: number): Statement[] {
  if (ended.length === 0) return []
  const tally = new Tally(now)
  const statements = ended.flatMap(({ draft: { job, runAt }, status, isNotNeeded }) => {
    tally.count(job.queue, job.topic, status, 1)
    const due = runAt === now ? null : runAt
    const error =
      status === 'failed' ? [JSON.stringify(PARENT_FAILED), PARENT_FAILED.fingerprint] : [null, null]
    const values = [...ENQUEUED.map(({ enqueue }) => enqueue(job)), due, now, now, status, ...error]
    const insert = { text: sql.INSERT_ENDED, values }
    const event = [job.id, job.id, 'cancelled', JSON.stringify(NOT_NEEDED), now]
    return [
      insert,
      ...(isInline(job.payload) ? [] : [insertPayload(job.id, job.payload)]),
      ...(isNotNeeded ? [{ text: sql.APPEND_EVENT, values: event }] : []),
    ]
  })
  const ids = JSON.stringify(ended.map(({ draft }) => draft.job.id))
  return [...statements, { text: sql.NOTE_META_OF_ENDED, values: [ids] }, ...tally.statements()]
}

/** How many jobs one insert carries: up to 32 values each, of SQLite's 32,766. */
const ENQUEUE_CHUNK = 1_000
/** Up to so many, each number of jobs has a statement of its own. */
const FEW = 32

type Column = { readonly name: string; readonly of: (draft: Draft) => string | number | null }

const COLUMNS: readonly Column[] = [
  { name: 'status', of: (draft) => draft.status },
  { name: 'run_at', of: (draft) => draft.runAt },
  { name: 'visible_at', of: (draft) => draft.visibleAt },
  { name: 'deps_left', of: (draft) => draft.depsLeft },
  ...enqueuedColumns().map(({ name, enqueue }): Column => ({ name, of: ({ job }) => enqueue(job) })),
]

/** The inserts for any number of jobs, for payloads that are not stored inline, and for their meta. */
export function insertJobs(drafts: readonly Draft[], now: number): Statement[] {
  const statements: Statement[] = []
  for (let i = 0; i < drafts.length; i += ENQUEUE_CHUNK) {
    const chunk = drafts.length <= ENQUEUE_CHUNK ? drafts : drafts.slice(i, i + ENQUEUE_CHUNK)
    statements.push(insertChunk(chunk, now))
    const big = chunk.filter(({ job }) => !isInline(job.payload))
    for (const { job } of big) statements.push(insertPayload(job.id, job.payload))
    const withMeta = chunk.filter(({ job }) => job.meta !== null).map(({ job }) => job.id)
    if (withMeta.length > 0) statements.push({ text: sql.NOTE_META, values: [JSON.stringify(withMeta)] })
  }
  return statements
}

function insertPayload(id: string, payload: string): Statement {
  return { text: sql.INSERT_PAYLOAD, values: [id, payload] }
}

/**
 * Binding a value costs about as much as storing it. So a column that is null in every row is left
 * out, and one with the same value in all rows (queue, topic, times …) is bound once.
 */
function insertChunk(drafts: readonly Draft[], now: number): Statement {
  const [first] = drafts
  const shared: string[] = ['created', 'updated']
  const values: unknown[] = [now, now]
  const varying: Column[] = []
  for (const column of COLUMNS) {
    const value = first ? column.of(first) : null
    if (drafts.some((draft) => column.of(draft) !== value)) varying.push(column)
    else if (value !== null) {
      shared.push(column.name)
      values.push(value)
    }
  }
  const names = varying.map((column) => column.name)
  const rows = drafts.length
  if (rows > FEW && rows < ENQUEUE_CHUNK) {
    values.push(JSON.stringify(drafts.map((draft) => varying.map(({ of }) => of(draft)))))
    return { text: writeInsertOfAny(shared, names), values }
  }
  for (const draft of drafts) for (const { of } of varying) values.push(of(draft))
  return { text: insertText(shared, names, rows), values }
}

/**
 * For any number of jobs, whose values are one JSON array. A mark for each value is 5% faster once the statement is
 * prepared, but to prepare one takes as long as to insert half of its rows, and each number of rows needs its own.
 */
function writeInsertOfAny(shared: readonly string[], varying: readonly string[]): string {
  const values = varying.map((_, i) => `value ->> ${i}`)
  return `INSERT INTO oncue_jobs (${[...shared, ...varying].join(', ')})
SELECT ${[marks(shared.length), ...values].join(', ')} FROM json_each(?)`
}

/** Building the text for a thousand rows takes longer than looking it up. */
const texts = new Map<string, string>()

function insertText(shared: readonly string[], varying: readonly string[], rows: number): string {
  const shape = `${shared.join()} ${varying.join()} ${rows}`
  let text = texts.get(shape)
  if (text === undefined) {
    text = writeInsert(shared, varying, rows)
    if (texts.size > 100) texts.clear()
    texts.set(shape, text)
  }
  return text
}

function writeInsert(shared: readonly string[], varying: readonly string[], rows: number): string {
  const into = `INSERT INTO oncue_jobs (${[...shared, ...varying].join(', ')})`
  // One job: every value is shared.
  if (varying.length === 0) return `${into} VALUES (${marks(shared.length)})`
  const source = `(SELECT ${shared.map((name) => `? AS ${name}`).join(', ')}) AS c`
  const row = `(${marks(varying.length)})`
  const columns = [...shared.map((name) => `c.${name}`), ...varying.map((_, i) => `v.column${i + 1}`)]
  return `${into} SELECT ${columns.join(', ')} FROM ${source}, (VALUES ${Array(rows).fill(row).join(', ')}) AS v`
}

function marks(count: number): string {
  return Array(count).fill('?').join(', ')
}
