import { createHash } from 'node:crypto'
import { LIMITS, type NewJob } from '@oncue/core'
import { COLUMN_TYPES, enqueuedColumns } from '../job-columns.ts'
import type { ActionBatch } from '../portable/actions.ts'
import { type FlowRow, isInline, onceKeyOf } from '../portable/enqueue.ts'
import type { EncodedUpdate } from '../portable/events/event.ts'
import type {
  ClaimRequest,
  HeartbeatRequest,
  PayloadChange,
  Rerun,
  RunRef,
  Settlement,
  WorkerInfo,
} from '../store.ts'
import { FUNCTION_SET, type FunctionName } from './function-set.ts'
import type { Marks } from './low-water.ts'

/** Pure builders of the statements for Postgres; nothing here sends them. `now` is null except in tests. */
export type Query = {
  readonly name?: string
  readonly text: string
  readonly values: unknown[]
  /** Milliseconds, under the driver's name. */
  readonly query_timeout?: number
}

/**
 * The timeout of statements that a worker waits for. A connection that died silently would fail only after a quarter
 * of an hour; heartbeats have to find another one within a lease.
 */
const WORK = { query_timeout: 15_000 }

/** A function of the set that this build has installed. */
export const fn = (name: FunctionName) => `oncue.${name}_${FUNCTION_SET}`

/**
 * A statement that connections prepare. Its name identifies its text: a pooler may hand a session from one build to
 * another, which must never run a statement of the first.
 */
function prepared(label: string, text: string) {
  return { name: `oncue.${label}_${createHash('sha256').update(text).digest('hex').slice(0, 8)}`, text }
}

/** A prepared call of a function that returns rows. */
export function preparedCall(name: FunctionName, parameters: number) {
  const list = Array.from({ length: parameters }, (_, i) => `$${i + 1}`).join(', ')
  return { ...WORK, ...prepared(name, `select * from ${fn(name)}(${list})`) }
}

/** Refuses a connection through a pooler that ignored our settings. */
export function requireReadCommitted(): Query {
  const text = `select ${fn('refuse_isolation')}()::text where current_setting('transaction_isolation') <> 'read committed'`
  return { text, values: [] }
}

type Column = { readonly name: string; readonly type: string; readonly of: (job: NewJob) => unknown }

const ENQUEUED = enqueuedColumns()
const DEPS_LEFT = 'deps_left'

/** The key of a job without one. */
const PLAIN_COLUMNS: readonly Column[] = [
  { name: DEPS_LEFT, type: 'integer', of: (job) => job.after.length },
  ...ENQUEUED.filter((column) => !column.keyed).map(({ name, type, enqueue }) => ({
    name,
    type: COLUMN_TYPES[type].postgres,
    of: enqueue,
  })),
]
const NAMES = PLAIN_COLUMNS.map((column) => column.name).join(', ')

/** How many jobs one insert carries. */
export const ENQUEUE_CHUNK = 1_000

/**
 * One insert for a chunk of jobs. Columns in which all jobs agree (queue, topic, …) travel once,
 * the others as arrays. One job is a prepared statement. `announced`: it notifies workers, too; see `canAnnounce`.
 */
export function enqueue(jobs: readonly NewJob[], now: Date | null, announced = false): Query {
  return jobs.length === 1 && jobs[0] && isInline(jobs[0].payload)
    ? enqueueOne(jobs[0], now, announced)
    : enqueueMany(jobs, now)
}

/** Whether the insert of these jobs can notify workers: one job, whose insert has no other side effect. */
export function canAnnounce(jobs: readonly NewJob[]): boolean {
  const [job] = jobs
  return jobs.length === 1 && job !== undefined && !job.request && job.meta === null && isInline(job.payload)
}

function enqueueOne(job: NewJob, now: Date | null, announced: boolean): Query {
  const { plain, withMeta } = job.request ? ENQUEUE_REQUESTED : ENQUEUE_ONE
  const statement = job.meta === null ? plain : withMeta
  return {
    ...(announced ? ENQUEUE_ANNOUNCED : statement),
    values: [now, ...PLAIN_COLUMNS.map((column) => column.of(job)), dueAt(job), job.delayMs],
  }
}

const INSERT_ONE = insertJobs(
  PLAIN_COLUMNS.map((column, i) => `$${i + 2}::${column.type}`),
  `$${PLAIN_COLUMNS.length + 2}::timestamptz`,
  `$${PLAIN_COLUMNS.length + 3}::bigint`,
  '',
)
const ENQUEUE_ONE = {
  plain: prepared('enqueue', INSERT_ONE),
  withMeta: prepared('enqueue_meta', complete(INSERT_ONE, [], { hasMeta: true })),
}
// Some drivers do not know the type void.
const ENQUEUE_ANNOUNCED = prepared(
  'enqueue_announced',
  `${INSERT_ONE} returning pg_notify('oncue', queue)::text`,
)
const ENQUEUE_REQUESTED = {
  plain: prepared('enqueue_requested', complete(INSERT_ONE, [], { isRequested: true })),
  withMeta: prepared(
    'enqueue_requested_meta',
    complete(INSERT_ONE, [], { isRequested: true, hasMeta: true }),
  ),
}

function enqueueMany(jobs: readonly NewJob[], now: Date | null): Query {
  const values: unknown[] = [now]
  const parameter = (value: unknown, type: string) => `$${values.push(value)}::${type}`
  const arrays: string[] = []
  const names: string[] = []
  const column = ({ name, type, of }: Column) => {
    const items = jobs.map(of)
    if (items.every((item) => item === items[0])) return parameter(items[0], type)
    arrays.push(arrayOf(items, type, parameter))
    names.push(name)
    return `s.${name}`
  }
  const expressions = PLAIN_COLUMNS.map(column)
  const runAt = column({ name: 'run_at', type: 'timestamptz', of: dueAt })
  const delay = column({ name: 'delay', type: 'bigint', of: (job) => job.delayMs })
  const source = arrays.length ? `, unnest(${arrays.join(', ')}) as s(${names.join(', ')})` : ''
  const insert = insertJobs(expressions, runAt, delay, source)
  const ctes = bigPayloads(jobs, parameter)
  const hasMeta = jobs.some((job) => job.meta !== null)
  const isRequested = jobs.some((job) => job.request)
  return { text: complete(insert, ctes, { hasMeta, isRequested }), values }
}

/**
 * Many values as one parameter. `pg` quotes and escapes each element of an array, and the server undoes it; JSON text
 * and ids need neither. U+001E cannot be in JSON text, where it is escaped. Nothing between two of them: null.
 */
function arrayOf(
  items: readonly unknown[],
  type: string,
  parameter: (value: unknown, type: string) => string,
): string {
  if (type === 'uuid' && !items.includes(null)) return parameter(`{${items.join(',')}}`, 'uuid[]')
  if (type !== 'json') return parameter(items, `${type}[]`)
  return `string_to_array(${parameter(items.join('\x1e'), 'text')}, E'\\x1e', '')::json[]`
}

function bigPayloads(
  jobs: readonly NewJob[],
  parameter: (value: unknown, type: string) => string,
): readonly string[] {
  const big = jobs.filter((job) => !isInline(job.payload))
  if (big.length === 0) return []
  const [ids, data] = [big.map((job) => job.id), big.map((job) => job.payload)]
  const insert = `insert into oncue.payloads (job_id, part, data) select b.id, 'payload', b.data
from unnest(${parameter(ids, 'uuid[]')}, ${parameter(data, 'json[]')}) as b(id, data)`
  return [`big as (${insert})`]
}

/**
 * The insert, with its side effects in the same statement. `hasMeta`: the rows by which lists find the jobs, which
 * jobs without meta do not pay for. `isRequested`: ids that were used before are refused, also those of finished
 * jobs.
 */
function complete(
  insert: string,
  ctes: readonly string[],
  { hasMeta = false, isRequested = false }: { hasMeta?: boolean; isRequested?: boolean },
): string {
  if (!hasMeta && !isRequested) return withAll(ctes, insert)
  const made = `made as (${insert} returning id, created, meta)`
  const meta = `insert into oncue.job_meta (key, value, created, job_id)
select e.key, e.value, m.created, m.id from made m, oncue.meta_entries(m.meta) e`
  if (!isRequested) return withAll([...ctes, made], meta)
  const noted = hasMeta ? [`noted as (${meta})`] : []
  // Some drivers do not know the type void.
  return withAll([...ctes, made, ...noted], `select ${fn('refuse_finished')}(array_agg(id))::text from made`)
}

function withAll(ctes: readonly string[], statement: string): string {
  return ctes.length ? `with ${ctes.join(', ')}\n${statement}` : statement
}

/** `$1` is the time of a test's clock. All rows share one moment: the clock is read once. */
function insertJobs(columns: readonly string[], runAt: string, delayMs: string, source: string): string {
  const parents = columns[PLAIN_COLUMNS.findIndex((column) => column.name === DEPS_LEFT)]
  return `insert into oncue.jobs (created, updated, status, run_at, visible_at, ${NAMES})
select c.now, c.now, (case when ${parents} = 0 then 'pending' else 'blocked' end)::oncue."Status",
  d.due, case when ${parents} = 0 then d.due end, ${columns.join(', ')}
from (select coalesce($1::timestamptz, oncue.clock()) as now) as c${source},
  lateral (select coalesce(${runAt}, c.now + ${delayMs} * interval '1 millisecond') as due) as d`
}

/** As text, so that equal times are equal values. */
function dueAt(job: NewJob): string | null {
  return job.runAt?.toISOString() ?? null
}

const CLAIM = preparedCall('claim', 11)
const SETTLE = preparedCall('settle', 9)
const SETTLE_AND_CLAIM = preparedCall('settle_and_claim', 18)
const HEARTBEAT = preparedCall('heartbeat', 6)
const RECORD_PROGRESS = preparedCall('record_progress', 3)
const RESCUE = preparedCall('rescue', 6)
const TEND = { ...WORK, ...prepared('tend', `select ${fn('tend')}($1)`) }

export function claim(request: ClaimRequest, marks: Marks, now: Date | null): Query {
  return { ...CLAIM, values: [now, ...claimValues(request, marks)] }
}

export function settle(
  settlements: readonly Settlement[],
  now: Date | null,
  worker: string | null = null,
): Query {
  return { ...SETTLE, values: [now, ...settleValues(settlements), worker] }
}

export function settleAndClaim(
  settlements: readonly Settlement[],
  request: ClaimRequest,
  marks: Marks,
  now: Date | null,
): Query {
  return { ...SETTLE_AND_CLAIM, values: [now, ...settleValues(settlements), ...claimValues(request, marks)] }
}

function claimValues(request: ClaimRequest, marks: Marks): unknown[] {
  return [
    request.worker,
    request.leaseMs,
    request.queues,
    request.topics ?? null,
    request.limit,
    request.start ?? request.limit,
    marks.queues,
    marks.priorities,
    marks.times,
    marks.ids,
  ]
}

function settleValues(settlements: readonly Settlement[]): unknown[] {
  const ids: string[] = []
  const runs: number[] = []
  const results: (string | null)[] = []
  const bigIds: string[] = []
  const bigRuns: number[] = []
  const bigData: string[] = []
  const others: unknown[] = []
  let anyResult = false
  for (const settlement of settlements.toSorted(byIdAndRun)) {
    if (settlement.kind !== 'complete') {
      others.push(otherOutcome(settlement))
      continue
    }
    const { id, run, result } = settlement
    const inline = result == null || isInline(result)
    ids.push(id)
    runs.push(run)
    results.push(inline ? (result ?? null) : null)
    anyResult ||= inline && result != null
    if (result != null && !inline) {
      bigIds.push(id)
      bigRuns.push(run)
      bigData.push(result)
    }
  }
  return [
    plainArray(ids),
    plainArray(runs),
    anyResult ? results : null,
    others.length ? JSON.stringify(others) : null,
    bigIds,
    bigRuns,
    bigData,
  ]
}

/** An array of ids or numbers as Postgres reads it: `pg` would quote and escape each of them. */
function plainArray(items: readonly (string | number)[]): string {
  return `{${items.join(',')}}`
}

function otherOutcome(settlement: Exclude<Settlement, { kind: 'complete' }>) {
  const error = 'error' in settlement ? settlement.error : undefined
  return {
    id: settlement.id,
    run: settlement.run,
    kind: settlement.kind,
    delayMs: 'delayMs' in settlement ? settlement.delayMs : 0,
    interrupted: settlement.kind === 'release' ? settlement.interrupted : undefined,
    error,
    fingerprint: error?.fingerprint,
    ...(settlement.kind === 'suspend' && { waits: settlement.waits, progressed: settlement.progressed }),
  }
}

/** As Postgres sorts uuids. */
function byIdAndRun(a: RunRef, b: RunRef): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : a.run - b.run
}

export function heartbeat(request: HeartbeatRequest, now: Date | null): Query {
  const runs = request.runs.toSorted(byIdAndRun)
  return {
    ...HEARTBEAT,
    values: [
      now,
      request.worker,
      request.leaseMs,
      runs.map((run) => run.id),
      runs.map((run) => run.run),
      runs.map((run) => run.started ?? true),
    ],
  }
}

export function ownedRuns(worker: string): Query {
  return { ...WORK, text: 'select id, run from oncue.jobs where locked_by = $1', values: [worker] }
}

export function recordProgress(
  updates: readonly EncodedUpdate[],
  now: Date | null,
  worker: string | null = null,
): Query {
  return { ...RECORD_PROGRESS, values: [now, JSON.stringify(updates), worker] }
}

/** How long to wait, in milliseconds, before other workers are declared dead: see rescue.sql. */
export type Patience = {
  readonly gone: number
  readonly most: number
  readonly settle: number
  readonly grace: number
}

export function rescue(patience: Patience, worker: string | null, now: Date | null): Query {
  const { gone, most, settle, grace } = patience
  return { ...RESCUE, values: [now, gone, most, settle, grace, worker] }
}

export function tend(now: Date | null): Query {
  return { ...TEND, values: [now] }
}

/**
 * Returns a row if `by` leads. A term that ends more than a term too late is from before the clock was set back. One that
 * ends a little later is not: it was begun by another call while this one waited for the row.
 */
export function lead(what: string, by: string, termMs: number, now: Date | null): Query {
  return {
    ...WORK,
    text: `insert into oncue.leaders as l (name, held_by, until)
select $2, $3, c.now + $4 * interval '1 millisecond' from (select coalesce($1::timestamptz, oncue.clock()) as now) as c
on conflict (name) do update set held_by = excluded.held_by, until = excluded.until
where l.held_by = excluded.held_by or l.until <= excluded.until - $4 * interval '1 millisecond'
  or l.until > excluded.until + $4 * interval '1 millisecond'
returning 1`,
    values: [now, what, by, termMs],
  }
}

/** Records that this build's functions are in use, at most once an hour for any number of processes. */
export function markFunctionsSeen(): Query {
  return {
    text: `update oncue.function_sets set last_seen = oncue.clock()
where hash = $1 and last_seen < oncue.clock() - interval '1 hour'`,
    values: [FUNCTION_SET],
  }
}

export function stepDown(what: string, by: string): Query {
  return { ...WORK, text: 'delete from oncue.leaders where name = $1 and held_by = $2', values: [what, by] }
}

/**
 * Jobs with a key. Enqueues call the SQL API, which is the same for every build: a service that only enqueues works
 * whichever sets of functions are installed. Returns n (the index in `jobs`), job_id, outcome. */
export function enqueueKeyed(jobs: readonly NewJob[], now: Date | null): Query {
  const rows = jobs.map((job) => ({
    ...Object.fromEntries(ENQUEUED.map(({ name, enqueue }) => [name, enqueue(job)])),
    big: isInline(job.payload) ? null : job.payload,
    uniqueMs: job.unique?.withinMs,
    onConflict: job.unique?.onConflict,
    ifRunning: job.unique?.ifRunning,
    onceKey: onceKeyOf(job)?.key,
    onceMs: LIMITS.idempotencyMs,
    sameQueue: job.sameQueue,
    runAt: job.runAt,
    delayMs: job.delayMs,
    after: job.after,
  }))
  return {
    text: 'select * from oncue.enqueue_jobs($1::timestamptz, $2::json)',
    values: [now, JSON.stringify(rows)],
  }
}

/** For jobs that were just written with a key: fails if another job with one of these ids has finished. */
export function refuseFinished(ids: readonly string[]): Query {
  return { text: `select ${fn('refuse_finished')}($1::uuid[])::text`, values: [ids] }
}

/** For jobs that are written already, with their edges: how many others they wait for. */
export function recountParents(jobs: readonly NewJob[]): Query {
  return {
    text: `update oncue.jobs j set deps_left = (select count(*) from oncue.deps d where d.job_id = j.id)
where j.id = any ($1::uuid[])`,
    values: [jobs.map((job) => job.id)],
  }
}

/** Writes the edges, and then applies the outcome of parents that have ended already. */
export function link(jobs: readonly NewJob[], now: Date | null): Query[] {
  const edges = jobs.flatMap((job) =>
    job.after.map((parent) => [job.id, parent, job.onParentFailure] as const),
  )
  return [
    {
      // A job may already wait for the run that it replaces.
      text: `insert into oncue.deps (job_id, parent_id, policy) select * from unnest($1::uuid[], $2::uuid[], $3::text[])
on conflict do nothing`,
      values: [
        edges.map(([id]) => id),
        edges.map(([, parent]) => parent),
        edges.map(([, , policy]) => policy),
      ],
    },
    {
      text: 'select oncue.link_jobs($1::timestamptz, $2::uuid[])::text',
      values: [now, jobs.map((job) => job.id)],
    },
  ]
}

/** Writes the places of the jobs of batches and flows. Once, however often it is sent. */
export function keepFlow(rows: readonly FlowRow[]): Query {
  const column = (n: number) => rows.map((row) => row[n])
  return {
    text: `insert into oncue.flow_places (flow_id, place, job_id, kind, name, after)
select * from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::text[], $5::text[], $6::json[]) on conflict do nothing`,
    values: [0, 1, 2, 3, 4, 5].map(column),
  }
}

/** The third column of each action: the ids of the jobs it was done to, or of busy ones. */
const IDS_OF = {
  requeue: 'to_json(done)',
  run_now: 'to_json(ids)',
  cancel: 'to_json(busy)',
  delete: 'null',
} as const

/** Returns rows of (reason, count, ids); the reason `done` counts the jobs it was done to. */
export function act({ action, ids, asOf, by }: ActionBatch, now: Date | null): Query {
  // A deleted job keeps no event that could say who deleted it.
  const [parameters, values] = action === 'delete' ? ['$1, $2, $3', []] : ['$1, $2, $3, $4', [by]]
  const text = `select reason, count, ${IDS_OF[action]} from ${fn(action)}(${parameters})`
  return { text, values: [now, ids, asOf, ...values] }
}

/** Returns one row with the outcome. */
export function requeueWithPayload(
  { id, run, updated, payload, by, paths }: PayloadChange,
  now: Date | null,
): Query {
  const [inline, big] = isInline(payload) ? [payload, null] : [null, payload]
  return {
    text: `select ${fn('requeue_with_payload')}($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [now, id, run, updated, inline, big, by ?? null, JSON.stringify(paths ?? [])],
  }
}

/** Returns one row with the outcome. */
export function requeueFrom({ id, step, by }: Rerun, now: Date | null): Query {
  return { text: `select ${fn('requeue_from')}($1, $2, $3, $4)`, values: [now, id, step, by ?? null] }
}

export function prune(
  queue: string,
  topic: string,
  status: string,
  before: Date,
  limit: number,
  now: Date | null,
): Query {
  return {
    text: `select ${fn('prune')}($1, $2, $3, $4, $5, $6)`,
    values: [now, queue, topic, status, before, limit],
  }
}

/** Which of these ids are known already: checked before an enqueue whose outcome is unknown is sent again. */
export function known(ids: readonly string[]): Query {
  return {
    text: `select id from oncue.jobs where id = any ($1::uuid[]) union all select id from oncue.history where id = any ($1::uuid[])`,
    values: [ids],
  }
}

export function attend(worker: WorkerInfo, presence: string | null, now: Date | null): Query {
  return {
    text: `insert into oncue.workers (id, host, pid, queues, concurrency, version, presence, started_at, last_beat)
select $2, $3, $4, $5, $6, $7, $8, c.now, c.now from (select coalesce($1::timestamptz, oncue.clock()) as now) as c
on conflict (id) do update set presence = excluded.presence, missing_since = null, last_beat = excluded.last_beat`,
    values: [
      now,
      worker.id,
      worker.host,
      worker.pid,
      JSON.stringify(worker.queues),
      worker.concurrency,
      worker.version,
      presence,
    ],
  }
}

/** Whether a job runs anywhere. Sends a notification, too. A scan: for workers that have been idle for a while. */
export function probe(name: string): Query {
  return {
    text: `select exists (select from oncue.jobs where status = 'processing'), pg_notify('oncue', $1)::text`,
    values: [name],
  }
}

/** No heartbeats for so long: until then the worker counts as seen. */
export function silent(workerId: string, ms: number, now: Date | null): Query {
  return {
    text: `update oncue.workers set last_beat = coalesce($1::timestamptz, oncue.clock()) + $3 * interval '1 millisecond' where id = $2`,
    values: [now, workerId, ms],
  }
}

export function now(now: Date | null): Query {
  return { ...WORK, text: 'select coalesce($1::timestamptz, oncue.clock())', values: [now] }
}

/** Leaves without a trace. */
export function forgetWorker(workerId: string): Query {
  return { ...WORK, text: 'delete from oncue.workers where id = $1', values: [workerId] }
}

export function leave(workerId: string, now: Date | null): Query {
  return {
    ...WORK,
    text: `with gone as (delete from oncue.workers where id = $1 returning *)
insert into oncue.worker_ends
  (id, host, pid, queues, concurrency, version, started_at, last_beat, ended_at, how, released, failed, runs)
select id, host, pid, queues, concurrency, version, started_at, least(last_beat, c.now), c.now, 'stopped', 0, 0, '[]'
from gone, (select coalesce($2::timestamptz, oncue.clock()) as now) as c
on conflict (id) do update set ended_at = excluded.ended_at, last_beat = excluded.last_beat, how = excluded.how`,
    values: [workerId, now],
  }
}
