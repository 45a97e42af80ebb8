import {
  type Job,
  type JobEnding,
  type JobId,
  type JobStatus,
  type JobSummary,
  type JobWaits,
  OncueError,
} from '@oncue/core'
import { COLUMN_TYPES, type FieldIn, jobColumns, type NamedColumn, type Part } from '../../job-columns.ts'
import type { JobGlance, StoredEnding } from '../../store.ts'
import { isUuid } from '../../uuid.ts'
import type { ChildResults } from '../outcomes.ts'
import { type Fragment, q, raw, type Sql } from '../sql.ts'
import { withChildrenLeft } from './child-waits.ts'

/** A row of the lists below: times and JSON as the dialect returns them. */
export type SummaryRow = Readonly<Record<string, unknown>> & { readonly id: string }

type Reader<Fields> = {
  /** What to select of a live or a finished job `n`: the same names, so that the two can be united. */
  readonly live: string
  readonly finished: string
  readonly decode: (sql: Sql, row: SummaryRow) => Fields
}

/** For a part of a job's columns. */
function reader<P extends Part>(...parts: readonly P[]): Reader<Pick<Job, FieldIn<P> & keyof Job>> {
  return readerOf(jobColumns(...parts))
}

function readerOf<Fields>(columns: readonly NamedColumn[]): Reader<Fields> {
  const list = (table: 'jobs' | 'history') =>
    columns.map((column) => `${expression(column, table)} as ${column.name}`).join(', ')
  const fields = columns.map(({ name, field, type }) => ({ name, field, decode: DECODERS[type] ?? asIs }))
  return {
    live: list('jobs'),
    finished: list('history'),
    decode: (sql, row) => {
      const job: Record<string, unknown> = {}
      for (const { name, field, decode } of fields) job[field] = decode(sql, row[name])
      if (job.waits) job.waits = shownWaits(job.status as JobStatus, job.waits as StoredWaits)
      if (job.ending) job.ending = shownEnding(job.ending as StoredEnding)
      return job as Fields
    },
  }
}

export type StoredWaits = {
  readonly since: string
  readonly for: readonly {
    readonly kind: JobWaits['for'][number]['kind']
    readonly name: string
    readonly until?: string
    /** Of a wait for children: how many they are. */
    readonly total?: number
  }[]
}

/** The column stays while the next run has the job, and is empty once something has resumed it. */
export function shownWaits(status: JobStatus, { since, for: open }: StoredWaits): JobWaits | null {
  if (status === 'processing' || open.length === 0) return null
  return {
    since,
    for: open.map(({ kind, name, until = null, total }) => ({
      kind,
      name,
      until,
      ...(total !== undefined && { children: { left: total, total } }),
    })),
  }
}

/** Of a live or a finished job `n`: what tells those that are suspended or being undone from others. */
export const STATE_COLUMNS = {
  live: `cast(n.status as text) as status, n.run_at, case when n.waits is null then 0 else 1 end as waits, n.ending`,
  finished: 'cast(n.status as text) as status, n.run_at, 0 as waits, cast(null as json) as ending',
}

export type StateRow = {
  readonly status: JobStatus
  readonly runAt: Date
  readonly waits: number
  readonly ending: StoredEnding | null
}

export const STATE_TYPES = { run_at: 'time', ending: 'json' } as const

/** How it is shown: suspended, and how it will end if it is being undone. */
export function shownState(
  { status, runAt, waits, ending }: StateRow,
  now: Date,
): { readonly isSuspended: boolean; readonly ending: JobEnding | null } {
  const isLater = status === 'blocked' || (status === 'pending' && runAt > now)
  return { isSuspended: Number(waits) === 1 && isLater, ending: ending && shownEnding(ending) }
}

/** Only of a job that is being undone. Its error is its last one. */
function shownEnding({ since, status }: StoredEnding): JobEnding | null {
  return since === undefined || status === undefined ? null : { since, status }
}

function expression({ name, type, only, big, finished }: NamedColumn, table: 'jobs' | 'history'): string {
  if (finished && table === 'history') return finished
  if (only && only !== table) return `cast(null as ${COLUMN_TYPES[type].postgres})`
  if (big)
    return `coalesce(n.${name}, (select p.data from {payloads} p where p.job_id = n.id and p.part = '${big}'))`
  return type === 'status' ? `cast(n.${name} as text)` : `n.${name}`
}

const time = (sql: Sql, value: unknown) => sql.time(value)
const json = (sql: Sql, value: unknown) => sql.json(value)
const asIs = (_: Sql, value: unknown) => value
const DECODERS: Partial<Record<NamedColumn['type'], typeof asIs>> = { time, json, jsonb: json }

/** A job without payload and result, which may take a megabyte. */
export const SUMMARY: Reader<JobSummary> = reader('list')

const GLANCED = ['id', 'topic', 'status', 'run', 'run_at', 'progress', 'created', 'updated']

/** The status and result of a job. */
const GLANCE: Reader<JobGlance & Pick<Job, 'id'>> = readerOf(
  jobColumns().filter(({ name }) => GLANCED.includes(name)),
)

const RESULT: Reader<Pick<Job, 'id' | 'status' | 'result'>> = readerOf(
  jobColumns().filter(({ name }) => ['id', 'status', 'result'].includes(name)),
)

/** How a job ended that another has waited for. */
export const ENDED: Reader<Pick<Job, 'id' | 'topic' | 'status' | 'result' | 'lastError'>> = readerOf(
  jobColumns().filter(({ name }) => ['id', 'topic', 'status', 'result', 'last_error'].includes(name)),
)

/** All of a job. */
const WHOLE_JOB: Reader<Pick<Job, FieldIn<'list' | 'get'>>> = reader('list', 'get')

/**
 * One job, live or finished, with payload and result. One statement, so that it does not miss a job that moves
 * meanwhile.
 */
export function get(sql: Sql, id: JobId): Promise<Job | null> {
  return readOne(sql, id, WHOLE_JOB)
}

/** The same without payload and result. */
export function summaryOf(sql: Sql, id: JobId): Promise<JobSummary | null> {
  return readOne(sql, id, SUMMARY)
}

async function readOne<Fields extends JobSummary>(
  sql: Sql,
  id: JobId,
  { live, finished, decode }: Reader<Fields>,
): Promise<Fields | null> {
  if (!isUuid(id)) return null
  const rows = await sql.all<SummaryRow>(byIdStatement(sql.dialect, [id.toLowerCase()], live, finished))
  const jobs = rows.map((row) => decode(sql, row))
  // One that was enqueued again after it had finished is in both tables.
  const job = jobs.find(({ finishedAt }) => finishedAt === null) ?? jobs[0]
  const [found = null] = job ? await withChildrenLeft(sql, [job]) : []
  return found
}

/** One statement, so that a job that moves between the tables is seen in one of them. */
export async function glance(sql: Sql, ids: readonly JobId[]): Promise<Map<JobId, JobGlance>> {
  const asked = [...new Set(ids)].filter(isUuid)
  if (asked.length === 0) return new Map()
  const rows = await sql.all<SummaryRow>(glanceStatement(sql.dialect, asked))
  return new Map(
    rows.map((row) => {
      const { id, ...job } = GLANCE.decode(sql, row)
      return [id, job]
    }),
  )
}

/** Of completed jobs. Their size is asked for first: results may take a megabyte each. */
export async function results(sql: Sql, ids: readonly JobId[], maxBytes: number): Promise<ChildResults> {
  const asked = [...new Set(ids)].filter(isUuid)
  if (asked.length === 0) return { results: new Map(), bytes: 0 }
  const columns = jobColumns().filter(({ name }) => name === 'result')
  const [size] = columns.map((column) => `length(cast(${expression(column, 'history')} as text))`)
  const of = byIdStatement(sql.dialect, asked, '0 as size', `${size} as size`)
  const [sum] = await sql.all<{ size: unknown }>(q`select coalesce(sum(r.size), 0) as size from (${of}) r`)
  const bytes = Number(sum?.size)
  if (bytes > maxBytes) {
    const message = `the results of ${asked.length} jobs take ${bytes} bytes, more than the ${maxBytes} that are left`
    throw new OncueError('RESULTS_TOO_LARGE', message)
  }
  const rows = await sql.all<SummaryRow>(byIdStatement(sql.dialect, asked, RESULT.live, RESULT.finished))
  const completed = rows.map((row) => RESULT.decode(sql, row)).filter(({ status }) => status === 'completed')
  return { results: new Map(completed.map(({ id, result }) => [id, result])), bytes }
}

export function glanceStatement(dialect: Sql['dialect'], ids: readonly JobId[]): Fragment {
  return byIdStatement(dialect, ids, GLANCE.live, GLANCE.finished)
}

/** The rows of these jobs, live or finished; columns of `n`. */
export function byIdStatement(
  dialect: Sql['dialect'],
  ids: readonly JobId[],
  live: string,
  finished = live,
): Fragment {
  const list = JSON.stringify(ids)
  const [ofJobs, ofHistory] = [raw(live), raw(finished)]
  // Lateral, so that no plan can read a whole table.
  if (dialect === 'postgres')
    return q`select n.* from json_array_elements_text(${list}::json) as w(id) cross join lateral (
      select ${ofJobs} from {jobs} n where n.id = w.id::uuid
      union all
      select ${ofHistory} from {history} n where n.id = w.id::uuid) n`
  return q`select ${ofJobs} from json_each(${list}) w cross join {jobs} n where n.id = w.value
    union all
    select ${ofHistory} from json_each(${list}) w cross join {history} n where n.id = w.value`
}
