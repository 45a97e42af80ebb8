import type { JobId } from '@oncue/core'
import type { BulkAction, BulkOperation } from '@oncue/core/wire'
import type { BulkOperationError, BulkOperationRow } from './bulk-operations.ts'
import { byIdStatement } from './reads/jobs.ts'
import { type Fragment, q, raw, type Sql } from './sql.ts'

export type Outcomes = NonNullable<BulkOperation['outcomes']>

/** The outcome of one job. One that failed again may be retried: then it is still open. */
type Outcome = { readonly name: keyof Outcomes; readonly isOpen: boolean }

/** How many jobs one count reads, however many there are. */
const LOOK_AT = 1_000

/** How long after its end the jobs of a bulk operation are followed. */
const FOLLOW_MS = 24 * 60 * 60_000

/** The least number of outcomes that says something about the rest. */
const ENOUGH_OUTCOMES = 10

export const NO_OUTCOMES: Outcomes = { completed: 0, running: 0, waiting: 0, failedAgain: 0, cancelled: 0 }

/** Null for actions without outcomes. */
export function noOutcomes(action: BulkAction): Outcomes | null {
  if (action !== 'requeue' && action !== 'run_now') return null
  return NO_OUTCOMES
}

/** A remembered job: its failures when it was touched, its outcome, and whether that can still change. */
type Remembered = [id: JobId, failures: number, outcome: keyof Outcomes, isOpen: boolean]

/** Remembers the jobs of a batch in one row, with the failures that they already had. */
export function remember(
  dialect: Sql['dialect'],
  { id, step }: Pick<BulkOperationRow, 'id' | 'step'>,
  ids: readonly JobId[],
): Fragment {
  const isPostgres = dialect === 'postgres'
  const key = isPostgres ? q`cast(${id} as uuid), cast(${step} as integer)` : q`${id}, ${step}`
  const jobs = isPostgres
    ? `json_agg(json_build_array(t.id, t.failures, 'waiting', true))`
    : `json_group_array(json_array(t.id, t.failures, 'waiting', json('true')))`
  const found = byIdStatement(dialect, ids, 'n.id, n.retries + n.crashes as failures')
  // A job that was enqueued again after it had finished is in both tables.
  return q`insert into {bulk_batches} (operation_id, step, jobs, open)
    select ${key}, ${raw(jobs)}, count(*)
    from (select id, max(failures) as failures from (${found}) f group by id) t`
}

type SeenJob = {
  readonly id: JobId
  readonly live: number
  readonly status: string
  readonly failures: number
}

/** The result of one count. */
export type Seen = {
  readonly outcomes: Outcomes
  /** The batches that have changed. */
  readonly changed: readonly { readonly step: number; readonly jobs: readonly Remembered[] }[]
  /** Whether none of the jobs that were read can still change. */
  readonly isSettled: boolean
  /** Where the next count continues; null: at the beginning. */
  readonly next: number | null
}

/** Reads up to 1,000 jobs whose outcome was open, and at least one batch: three bounded reads by index. */
export async function look(sql: Sql, operation: BulkOperationRow, after: number | null): Promise<Seen> {
  const { batches, next } = await openBatches(sql, operation.id, after ?? 0)
  const ids = batches.flatMap(({ jobs }) => jobs.filter(([, , , isOpen]) => isOpen).map(([id]) => id))
  const rows = await sql.all<SeenJob>(byIdStatement(sql.dialect, ids, columnsOf(1), columnsOf(0)))
  // A job that was enqueued again after it had finished is in both tables: the live one counts.
  const found = new Map(rows.toSorted((a, b) => a.live - b.live).map((row) => [row.id, row]))
  const outcomes = { ...(operation.outcomes ?? NO_OUTCOMES) }
  const changed: { step: number; jobs: Remembered[] }[] = []
  let isSettled = true
  for (const { step, jobs } of batches) {
    let hasChanged = false
    const now = jobs.map((job): Remembered => {
      const [id, failures, was, wasOpen] = job
      if (!wasOpen) return job
      const { name, isOpen } = outcomeOf(failures, found.get(id))
      if (isOpen) isSettled = false
      if (name === was && isOpen) return job
      hasChanged = true
      outcomes[was] -= 1
      outcomes[name] += 1
      return [id, failures, name, isOpen]
    })
    if (hasChanged) changed.push({ step, jobs: now })
  }
  return { outcomes, changed, isSettled, next }
}

async function openBatches(sql: Sql, operation: string, after: number) {
  const sizes = await sql.walk<{ step: number; open: number }>(openBatchesStatement(operation, after))
  let jobs = 0
  const taken = sizes.filter(({ open }, index) => {
    jobs += open
    return index === 0 || jobs <= LOOK_AT
  })
  const last = taken.at(-1)?.step ?? after
  const rows = await sql.walk<{ step: number; jobs: unknown }>(q`select step, jobs from {bulk_batches}
    where operation_id = ${operation} and open > 0 and step > ${after} and step <= ${last} order by step`)
  const batches = rows.map((row) => ({ step: row.step, jobs: sql.json(row.jobs) as Remembered[] }))
  return { batches, next: taken.length < sizes.length || sizes.length === LOOK_AT ? last : null }
}

export function openBatchesStatement(operation: string, after: number): Fragment {
  return q`select step, open from {bulk_batches}
    where operation_id = ${operation} and open > 0 and step > ${after} order by step limit ${LOOK_AT}`
}

const columnsOf = (live: 0 | 1) =>
  `n.id, ${live} as live, cast(n.status as text) as status, n.retries + n.crashes as failures`

function outcomeOf(failures: number, job: SeenJob | undefined): Outcome {
  // It was deleted, or pruned.
  if (!job) return { name: 'cancelled', isOpen: false }
  if (job.live === 0) return { name: ENDS[job.status] ?? 'cancelled', isOpen: false }
  if (job.failures > failures) return { name: 'failedAgain', isOpen: true }
  return { name: job.status === 'processing' ? 'running' : 'waiting', isOpen: true }
}

const ENDS: Readonly<Record<string, keyof Outcomes>> = { completed: 'completed', failed: 'failedAgain' }

export function saveOutcomes(operation: string, changed: Seen['changed']): Fragment[] {
  return changed.map(({ step, jobs }) => {
    const open = jobs.filter(([, , , isOpen]) => isOpen).length
    return q`update {bulk_batches} set jobs = ${JSON.stringify(jobs)}, open = ${open}
      where operation_id = ${operation} and step = ${step}`
  })
}

/** Its canary jobs are done, and it waits for their outcomes. */
export function awaitsCanary({ status, canary, done }: BulkOperationRow): boolean {
  return status === 'canary' && canary !== null && done >= canary.count
}

/** The state of a bulk operation after a count: its canary may have passed, or too many of its jobs failed again. */
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
