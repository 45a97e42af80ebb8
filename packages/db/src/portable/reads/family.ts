import type { JobId } from '@oncue/core'
import type { Family, Relative } from '@oncue/core/wire'
import { idsOf } from '../enqueue.ts'
import { type Fragment, q, raw, readAll, type Sql, timeOf } from '../sql.ts'
import { byIdStatement, get, STATE_COLUMNS, STATE_TYPES, type StateRow, shownState } from './jobs.ts'

/** How many relatives of each kind are named. */
const MAX_RELATIVES = 50
/** How many jobs of each table are searched for children: there is no index on `parent_id`. */
export const MAX_LOOKED_AT = 5_000
/** Tolerance for ids, which carry the clock of the process that made them. */
export const SKEW_MS = 5_000

/** The parent of a job, its children, the jobs it waits for and those that wait for it. Null: there is no such job. */
export async function family(sql: Sql, id: JobId): Promise<Family | null> {
  const job = await get(sql, id)
  if (!job) return null
  const { parentId, run, startedAt, created, finishedAt } = job
  // Children are enqueued while it runs; the start of earlier runs is not known, only the creation.
  const from = run === 1 && startedAt ? startedAt : created
  const ids = { from: idAt(from.getTime() - SKEW_MS), to: finishedAt && idAt(finishedAt.getTime() + SKEW_MS) }
  const [parents, waitsFor, dependants, live, finished] = await Promise.all([
    relatives(sql, parentId === null ? [] : [{ id: parentId }]),
    parentsOf(sql, id),
    dependantsOf(sql, id),
    childrenIn(sql, 'jobs', id, ids),
    childrenIn(sql, 'history', id, ids),
  ])
  const children = [...live.found, ...finished.found].sort(byId)
  return {
    id,
    parent: parents[0] ?? null,
    waitsFor,
    dependants,
    children: children.slice(0, MAX_RELATIVES),
    childrenAreComplete: live.isComplete && finished.isComplete && children.length <= MAX_RELATIVES,
  }
}

/** The parents that it still waits for: an edge is deleted when its parent is done. */
export async function parentsOf(sql: Sql, id: JobId): Promise<Relative[]> {
  const edges = await sql.walk<{ id: string }>(
    q`select parent_id as id from {deps} where job_id = ${id} order by parent_id limit ${MAX_RELATIVES}`,
  )
  return relatives(sql, edges)
}

async function dependantsOf(sql: Sql, id: JobId): Promise<Relative[]> {
  const edges = await sql.all<{ id: string }>(
    q`select job_id as id from {deps} where parent_id = ${id} limit ${MAX_RELATIVES}`,
  )
  return relatives(sql, edges)
}

const COLUMNS = {
  live: `n.id, n.topic, n.queue, ${STATE_COLUMNS.live}`,
  finished: `n.id, n.topic, n.queue, ${STATE_COLUMNS.finished}`,
}

type Row = Pick<Relative, 'id' | 'topic' | 'queue'> & StateRow

function toRelative(row: Row, now: Date): Relative {
  const { id, topic, queue, status } = row
  return { id, topic, queue, status, ...shownState(row, now) }
}

async function relatives(sql: Sql, edges: readonly { readonly id: JobId }[]): Promise<Relative[]> {
  if (edges.length === 0) return []
  const of = byIdStatement(sql.dialect, idsOf(edges), COLUMNS.live, COLUMNS.finished)
  const [now, found] = await Promise.all([sql.now(), readAll<Row>(sql, of, STATE_TYPES)])
  // One that was enqueued again after it had finished is in both tables; the live one comes first.
  const jobs = new Map(found.reverse().map((row) => [row.id, toRelative(row, now)]))
  return [...jobs.values()].sort(byId)
}

type IdRange = { readonly from: string; readonly to: string | null }

async function childrenIn(
  sql: Sql,
  table: 'jobs' | 'history',
  parent: JobId,
  ids: IdRange,
): Promise<{ found: Relative[]; isComplete: boolean }> {
  type Looked = { readonly looked: number; readonly id: string | null } & Omit<
    Row,
    'id' | 'runAt' | 'ending'
  > & {
      readonly run_at: unknown
      readonly ending: unknown
    }
  const [now, rows] = await Promise.all([sql.now(), sql.walk<Looked>(childrenStatement(table, parent, ids))])
  return {
    found: rows.flatMap(({ id, run_at, ending, ...row }) =>
      id === null
        ? []
        : [
            toRelative(
              { ...row, id, runAt: timeOf(sql, run_at), ending: sql.json(ending) as Row['ending'] },
              now,
            ),
          ],
    ),
    isComplete: Number(rows[0]?.looked ?? 0) <= MAX_LOOKED_AT,
  }
}

/** Along the ids, which begin with the time at which they were made, up to the bound. */
export function childrenStatement(table: 'jobs' | 'history', parent: JobId, { from, to }: IdRange): Fragment {
  const before = to === null ? raw('') : q`and n.id < ${to}`
  return q`with walked as (
      select ${raw(table === 'jobs' ? COLUMNS.live : COLUMNS.finished)}, n.parent_id from ${raw(`{${table}}`)} n where n.id >= ${from} ${before}
      order by n.id limit ${MAX_LOOKED_AT + 1})
    select (select count(*) from walked) as looked, c.id, c.topic, c.queue, c.status, c.run_at, c.waits, c.ending
    from (select 1 as one) o
    left join (select * from walked where parent_id = ${parent} limit ${MAX_RELATIVES + 1}) c on 1 = 1`
}

/** The first id of a millisecond. */
export function idAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

const byId = (a: Relative, b: Relative) => (a.id < b.id ? -1 : 1)
