import { type JobId, type JobSummary, stateOf } from '@oncue/core'
import type { JobTree, TreeJob } from '@oncue/core/wire'
import { isUuid } from '../../uuid.ts'
import type { Spawned } from '../children.ts'
import { type Fragment, q, raw, type Sql } from '../sql.ts'
import { withChildrenLeft } from './child-waits.ts'
import { idAt, MAX_LOOKED_AT, SKEW_MS } from './family.ts'
import { byIdStatement, SUMMARY, type SummaryRow } from './jobs.ts'

const MAX_JOBS = 1_000
/** Steps from the job that was asked for. */
const MAX_LEVELS = 100
/** Searches for children that only name their parent: one finds those of all jobs found so far. */
const MAX_SEARCHES = 10

/** A job waits for another, or has waited for it. */
type Edge = { readonly id: JobId; readonly parent: JobId }

/** What is known of some jobs without reading others: who is connected to them, and which of these edges are waits. */
type Relations = {
  readonly ids: readonly JobId[]
  readonly edges: readonly Edge[]
  readonly names: ReadonlyMap<JobId, string>
  readonly isComplete: boolean
}

/** All jobs that a job is connected to, level by level, up to a bound. Null: there is no such job. */
export async function tree(sql: Sql, id: JobId): Promise<JobTree | null> {
  if (!isUuid(id)) return null
  const walk = new Walk(sql)
  await walk.from([id])
  if (!walk.jobs.has(id)) return null
  const childrenAreComplete = await walk.searchChildren()
  const jobs = await withChildrenLeft(sql, [...walk.jobs.values()])
  const now = await sql.now()
  const shown = jobs.map((job) => toTreeJob(job, walk, now)).sort((a, b) => (a.id < b.id ? -1 : 1))
  const counts = {
    undoing: 0,
    suspended: 0,
    blocked: 0,
    pending: 0,
    processing: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
  }
  for (const { ending, isSuspended, status } of shown)
    counts[ending ? 'undoing' : isSuspended ? 'suspended' : status]++
  return { id, jobs: shown, counts, isComplete: walk.isComplete, childrenAreComplete }
}

class Walk {
  readonly jobs = new Map<JobId, JobSummary>()
  readonly parentsOf = new Map<JobId, Set<JobId>>()
  readonly names = new Map<JobId, string>()
  isComplete = true
  readonly #sql: Sql
  /** Also those that are gone. */
  readonly #seen = new Set<JobId>()
  #levels = 0

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** Reads these jobs, and all that can be reached from them along indexes. */
  async from(ids: readonly JobId[]): Promise<void> {
    let next = this.#unseen(ids)
    while (next.length > 0) {
      if (this.#levels++ >= MAX_LEVELS) {
        this.isComplete = false
        return
      }
      const [read, related] = await Promise.all([jobsOf(this.#sql, next), relationsOf(this.#sql, next)])
      for (const job of read) this.jobs.set(job.id, job)
      for (const { id, parent } of related.edges) {
        const parents = this.parentsOf.get(id)
        if (parents) parents.add(parent)
        else this.parentsOf.set(id, new Set([parent]))
      }
      for (const [id, name] of related.names) this.names.set(id, name)
      if (!related.isComplete) this.isComplete = false
      const spawners = read.flatMap(({ parentId }) => parentId ?? [])
      next = this.#unseen([...spawners, ...related.ids])
    }
  }

  /** Children that nothing but their own `parentId` connects. False: there may be more of them. */
  async searchChildren(): Promise<boolean> {
    for (let search = 0; search < MAX_SEARCHES && this.isComplete; search++) {
      const { found, isComplete } = await searchChildren(this.#sql, [...this.jobs.values()])
      const isOver = found.every((id) => this.#seen.has(id)) || !isComplete
      await this.from(found)
      if (isOver) return isComplete
    }
    return false
  }

  /** As many as there is room for. */
  #unseen(ids: readonly JobId[]): JobId[] {
    const unseen = [...new Set(ids)].filter((id) => !this.#seen.has(id))
    const taken = unseen.slice(0, MAX_JOBS - this.#seen.size)
    if (taken.length < unseen.length) this.isComplete = false
    for (const id of taken) this.#seen.add(id)
    return taken
  }
}

async function jobsOf(sql: Sql, ids: readonly JobId[]): Promise<JobSummary[]> {
  const rows = await sql.all<SummaryRow>(byIdStatement(sql.dialect, ids, SUMMARY.live, SUMMARY.finished))
  const jobs = rows.map((row) => SUMMARY.decode(sql, row))
  // One that was enqueued again after it had finished is in both tables; the live one counts.
  const finished = jobs.filter(({ finishedAt }) => finishedAt !== null)
  return [
    ...new Map(
      [...finished, ...jobs.filter((job) => job.finishedAt === null)].map((job) => [job.id, job]),
    ).values(),
  ]
}

async function relationsOf(sql: Sql, ids: readonly JobId[]): Promise<Relations> {
  const [edges, spawned, places] = await Promise.all([
    sql.walk<Edge>(edgesStatement(sql.dialect, ids)),
    sql.walk<{ data: unknown }>(spawnsStatement(sql.dialect, ids)),
    sql.walk<Place>(placesStatement(sql.dialect, ids)),
  ])
  const children = spawned.flatMap(({ data }) =>
    Object.values((sql.json(data) ?? {}) as Spawned).map(([child]) => child),
  )
  const kept = edgesOf(places.map((place) => ({ ...place, after: sql.json(place.after) as number[] | null })))
  return {
    ids: [...edges.flatMap(({ id, parent }) => [id, parent]), ...places.map(({ id }) => id), ...children],
    edges: [...edges, ...kept],
    names: new Map(places.flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const]))),
    isComplete: edges.length <= MAX_EDGES && places.length <= MAX_PLACES,
  }
}

/** A job of a batch or a flow. */
type Place = {
  readonly flow: string
  readonly id: JobId
  readonly place: number
  readonly kind: string
  readonly name: string | null
  readonly after: unknown
}

/** What the jobs of a batch or flow wait for, of those that were read. */
function edgesOf(places: readonly (Place & { readonly after: readonly number[] | null })[]): Edge[] {
  const at = new Map(places.map(({ flow, place, id }) => [`${flow} ${place}`, id]))
  const batches = new Map<string, JobId[]>()
  for (const { flow, kind, id } of places) {
    if (kind !== 'job') continue
    const batch = batches.get(flow)
    if (batch) batch.push(id)
    else batches.set(flow, [id])
  }
  return places.flatMap(({ flow, id, kind, after }) => {
    if (after === null) return []
    const parents =
      kind === 'node' ? after.flatMap((place) => at.get(`${flow} ${place}`) ?? []) : (batches.get(flow) ?? [])
    return parents.map((parent) => ({ id, parent }))
  })
}

/** `each(ids)`: the ids as rows `w(id)`, which a plan starts from. */
function each(dialect: Sql['dialect'], ids: readonly JobId[]): Fragment {
  const list = JSON.stringify(ids)
  return dialect === 'postgres'
    ? q`(select e::uuid as id from json_array_elements_text(${list}::json) as e) w`
    : q`(select value as id from json_each(${list})) w`
}

const MAX_EDGES = 2 * MAX_JOBS
const MAX_PLACES = 2 * MAX_JOBS

/** Unfinished waits, both ways. */
export function edgesStatement(dialect: Sql['dialect'], ids: readonly JobId[]): Fragment {
  const from = each(dialect, ids)
  return q`select d.job_id as id, d.parent_id as parent from ${from} cross join {deps} d where d.job_id = w.id
    union select d.job_id, d.parent_id from ${from} cross join {deps} d where d.parent_id = w.id
    limit ${MAX_EDGES + 1}`
}

export function spawnsStatement(dialect: Sql['dialect'], ids: readonly JobId[]): Fragment {
  return q`select o.data from ${each(dialect, ids)} cross join {outcomes} o
    where o.job_id = w.id and o.kind = 'spawn' limit ${MAX_EDGES}`
}

/** What follows a batch comes first in it. */
export function placesStatement(dialect: Sql['dialect'], ids: readonly JobId[]): Fragment {
  const flows = q`select o.flow_id from ${each(dialect, ids)} cross join {flow_places} o where o.job_id = w.id`
  // As an array, so that no plan begins with all of the table.
  const isOfThem = dialect === 'postgres' ? q`f.flow_id = any (array(${flows}))` : q`f.flow_id in (${flows})`
  return q`select f.flow_id as flow, f.job_id as id, f.place, f.kind, f.name, f.after
    from {flow_places} f where ${isOfThem} order by f.flow_id, f.place limit ${MAX_PLACES + 1}`
}

type Child = { readonly looked: number; readonly id: JobId | null }

async function searchChildren(
  sql: Sql,
  jobs: readonly JobSummary[],
): Promise<{ found: JobId[]; isComplete: boolean }> {
  const from = Math.min(...jobs.map(({ created }) => created.getTime()))
  const ends = jobs.map(({ finishedAt }) => finishedAt?.getTime() ?? Number.POSITIVE_INFINITY)
  const to = Math.max(...ends)
  const range = {
    from: idAt(from - SKEW_MS),
    to: to === Number.POSITIVE_INFINITY ? null : idAt(to + SKEW_MS),
  }
  const ids = jobs.map(({ id }) => id)
  const rows = await Promise.all(
    (['jobs', 'history'] as const).map((table) =>
      sql.walk<Child>(childrenOfStatement(sql.dialect, table, ids, range)),
    ),
  )
  return {
    found: rows.flat().flatMap(({ id }) => id ?? []),
    isComplete: rows.every(([first]) => Number(first?.looked ?? 0) <= MAX_LOOKED_AT),
  }
}

/** As in `family`: along the ids, which begin with the time at which they were made. */
export function childrenOfStatement(
  dialect: Sql['dialect'],
  table: 'jobs' | 'history',
  parents: readonly JobId[],
  { from, to }: { readonly from: string; readonly to: string | null },
): Fragment {
  const before = to === null ? raw('') : q`and n.id < ${to}`
  return q`with walked as (
      select n.id, n.parent_id from ${raw(`{${table}}`)} n where n.id >= ${from} ${before}
      order by n.id limit ${MAX_LOOKED_AT + 1})
    select (select count(*) from walked) as looked, c.id
    from (select 1 as one) o
    left join (select c.id from walked c where c.parent_id in (select w.id from ${each(dialect, parents)})
      limit ${MAX_JOBS + 1}) c on 1 = 1`
}

function toTreeJob(job: JobSummary, { jobs, parentsOf, names }: Walk, now: Date): TreeJob {
  const { id, topic, queue, status, run, retries, maxRetries, depsLeft, waits, parentId, lastError } = job
  const { runAt, created, startedAt, finishedAt, cancelAt, ending } = job
  return {
    ...{ id, topic, queue, status, run, retries, maxRetries, depsLeft, waits, parentId },
    ...{ runAt, created, startedAt, finishedAt, cancelAt, ending },
    name: names.get(id) ?? null,
    after: [...(parentsOf.get(id) ?? [])].filter((parent) => jobs.has(parent)).sort(),
    isSuspended: stateOf(job, now) === 'suspended',
    error: lastError && { class: lastError.class, message: lastError.message, code: lastError.code ?? null },
  }
}
