import type { JobId } from '@oncue/core'
import type { BulkAction, BulkOperation } from '@oncue/core/wire'
import type { BulkOperationError, BulkOperationRow } from './bulk-operations.ts'
import { byIdStatement } from './reads/jobs.ts'
import type { PortableStatement, Sql } from './sql.ts'

export type Outcomes = NonNullable<BulkOperation['outcomes']>

/** What became of one job. One that failed again may be retried: then it is still open. */
type Outcome = { readonly name: keyof Outcomes; readonly isOpen: boolean }

const STORED: Record<keyof Outcomes, string> = {
  completed: 'completed',
  running: 'running',
  waiting: 'waiting',
  failedAgain: 'failed_again',
  cancelled: 'cancelled',
}
const NAMES = new Map(Object.entries(STORED).map(([name, stored]) => [stored, name as keyof Outcomes]))

/** How many jobs one look reads, however many there are. */
const LOOK_AT = 1_000

/** How long after its end the jobs of a bulk operation are followed. */
const FOLLOW_MS = 24 * 60 * 60_000

/** So many outcomes say something about the rest. */
const ENOUGH_OUTCOMES = 10

export const NO_OUTCOMES: Outcomes = { completed: 0, running: 0, waiting: 0, failedAgain: 0, cancelled: 0 }

/** Null for actions of which nothing becomes. */
export function noOutcomes(action: BulkAction): Outcomes | null {
  if (action !== 'requeue' && action !== 'run_now') return null
  return NO_OUTCOMES
}

/** Remembers the jobs of a batch, with the failures that they already had. */
export function remember(
  dialect: Sql['dialect'],
  operation: string,
  ids: readonly JobId[],
): PortableStatement {
  const { text, values = [] } = byIdStatement(dialect, ids, 'n.id, n.retries + n.crashes as failures')
  const id = dialect === 'postgres' ? 'cast(? as uuid)' : '?'
  return {
    // A job that was enqueued again after it had finished is in both tables.
    text: `insert into {bulk_operation_jobs} (operation_id, job_id, failures, outcome, is_open)
      select ${id}, t.id, max(t.failures), 'waiting', true from (${text}) t group by t.id`,
    values: [operation, ...values],
  }
}

type OpenJob = { readonly id: JobId; readonly failures: number; readonly outcome: string }
type SeenJob = {
  readonly id: JobId
  readonly live: number
  readonly status: string
  readonly failures: number
}

/** What one look found out. */
export type Seen = {
  readonly outcomes: Outcomes
  /** The jobs whose outcome has changed. */
  readonly changed: readonly (Outcome & { readonly ids: readonly JobId[] })[]
  /** Whether none of the jobs that were looked at can still change. */
  readonly isSettled: boolean
  /** Where the next look goes on; null: at the beginning. */
  readonly next: JobId | null
}

const FIRST = '00000000-0000-0000-0000-000000000000'

/** Looks at up to 1,000 jobs whose outcome was open: two bounded reads by index. */
export async function look(sql: Sql, operation: BulkOperationRow, after: JobId | null): Promise<Seen> {
  const open = await sql.walk<OpenJob>(openJobsStatement(operation.id, after ?? FIRST))
  const rows = await sql.all<SeenJob>(
    byIdStatement(
      sql.dialect,
      open.map(({ id }) => id),
      columnsOf(1),
      columnsOf(0),
    ),
  )
  const live = new Map(rows.filter((row) => row.live === 1).map((row) => [row.id, row]))
  const ended = new Map(rows.filter((row) => row.live === 0).map((row) => [row.id, row]))
  const outcomes = { ...(operation.outcomes ?? NO_OUTCOMES) }
  const changed = new Map<string, Outcome & { readonly ids: JobId[] }>()
  let isSettled = true
  for (const job of open) {
    const was = NAMES.get(job.outcome) ?? 'waiting'
    const { name, isOpen } = outcomeOf(job, live.get(job.id) ?? ended.get(job.id))
    if (isOpen) isSettled = false
    if (name === was && isOpen) continue
    outcomes[was] -= 1
    outcomes[name] += 1
    const alike = changed.get(`${name} ${isOpen}`) ?? { name, isOpen, ids: [] }
    changed.set(`${name} ${isOpen}`, alike)
    alike.ids.push(job.id)
  }
  const next = open.length < LOOK_AT ? null : (open.at(-1)?.id ?? null)
  return { outcomes, changed: [...changed.values()], isSettled, next }
}

export function openJobsStatement(operation: string, after: JobId): Required<PortableStatement> {
  return {
    text: `select job_id as id, failures, outcome from {bulk_operation_jobs}
      where operation_id = ? and is_open and job_id > ? order by job_id limit ${LOOK_AT}`,
    values: [operation, after],
  }
}

const columnsOf = (live: 0 | 1) =>
  `n.id, ${live} as live, cast(n.status as text) as status, n.retries + n.crashes as failures`

function outcomeOf({ failures }: OpenJob, job: SeenJob | undefined): Outcome {
  // It was deleted, or pruned.
  if (!job) return { name: 'cancelled', isOpen: false }
  if (job.live === 0) return { name: ENDS[job.status] ?? 'cancelled', isOpen: false }
  if (job.failures > failures) return { name: 'failedAgain', isOpen: true }
  return { name: job.status === 'processing' ? 'running' : 'waiting', isOpen: true }
}

const ENDS: Readonly<Record<string, keyof Outcomes>> = { completed: 'completed', failed: 'failedAgain' }

export function saveOutcomes(
  dialect: Sql['dialect'],
  operation: string,
  changed: Seen['changed'],
): PortableStatement[] {
  const isPostgres = dialect === 'postgres'
  // An array, so that no plan walks all jobs of the operation.
  const among = isPostgres ? '= any (cast(? as uuid[]))' : 'in (select value from json_each(?))'
  return changed.map(({ name, isOpen, ids }) => ({
    text: `update {bulk_operation_jobs} set outcome = ?, is_open = ? where operation_id = ? and job_id ${among}`,
    values: [STORED[name], isOpen, operation, isPostgres ? `{${ids.join()}}` : JSON.stringify(ids)],
  }))
}

/** Its canary jobs are done, and it waits for what becomes of them. */
export function awaitsCanary({ status, canary, done }: BulkOperationRow): boolean {
  return status === 'canary' && canary !== null && done >= canary.count
}

/** How a bulk operation stands after a look: its canary may have passed, or too many of its jobs failed again. */
export function afterLook(
  seen: BulkOperationRow,
  { outcomes, isSettled, next }: Pick<Seen, 'outcomes' | 'isSettled' | 'next'>,
  isWhole: boolean,
  now: Date,
): BulkOperationRow {
  const operation = { ...seen, outcomes: seen.outcomes && outcomes }
  if (seen.finishedAt) {
    const isOver = seen.outcomes === null || (isWhole && isSettled && next === null)
    const isLate = now.getTime() - seen.finishedAt.getTime() > FOLLOW_MS
    return { ...operation, isOpen: !isOver && !isLate }
  }
  const error = reasonToStop(operation)
  if (error) return { ...operation, status: 'stopped', error, updated: now, finishedAt: now }
  const hasPassed = awaitsCanary(operation) && outcomes.waiting + outcomes.running === 0
  return hasPassed ? { ...operation, status: 'running', updated: now } : operation
}

function reasonToStop({
  status,
  canary,
  stopWhenFailing,
  done,
  outcomes,
}: BulkOperationRow): BulkOperationError | null {
  if (!outcomes) return null
  const { completed, failedAgain, waiting, running } = outcomes
  const because = (message: string) => ({ code: 'FAILED_AGAIN', message })
  if (status === 'canary' && canary) {
    if (failedAgain > canary.maxFailed) return because(`${failedAgain} of ${done} failed again`)
    const isDecided = done >= canary.count && waiting + running === 0
    return isDecided && completed === 0 ? because(`none of ${done} completed`) : null
  }
  const ended = completed + failedAgain
  if (stopWhenFailing === null || ended < ENOUGH_OUTCOMES || failedAgain / ended <= stopWhenFailing)
    return null
  const percent = Math.round(stopWhenFailing * 1_000) / 10
  return because(`${failedAgain} of ${ended} failed again, more than ${percent}%`)
}
