import { FINISHED_STATUSES, isOncueError, type JobId, OncueError } from '@oncue/core'
import { type BulkAction, jobFilterSchema } from '@oncue/core/wire'
import { backoff, type Runtime, systemRuntime } from '@oncue/runtime'
import type {
  ActionFilter,
  ActionOptions,
  ActionReport,
  JobFilter,
  PruneRule,
  Rerun,
  Target,
} from '../store.ts'
import { isUuid } from '../uuid.ts'
import { counted } from './reads/counts.ts'
import type { ListPosition } from './reads/cursor.ts'
import { invalid } from './reads/filter.ts'
import type { Batch, Match } from './reads/list.ts'
import { q, raw, type Sql } from './sql.ts'

/** How many jobs one transaction touches. */
export const BATCH = 500
/** Jobs that are being claimed or settled at this moment are tried again, a few times. */
export const BUSY_ATTEMPTS = 5
const BUSY = { firstMs: 25, maxMs: 100, jitter: 0.2 }

/** The method of the store. */
export const ACTION_METHODS = {
  requeue: 'requeue',
  run_now: 'runNow',
  cancel: 'cancel',
  delete: 'delete',
} as const satisfies Record<BulkAction, string>

/** What one transaction does. */
export type ActionBatch = {
  readonly action: BulkAction
  readonly ids: readonly JobId[]
  readonly asOf: Date | null
  readonly by: string | null
}

export type Acted = { readonly reason: string; readonly count: number; readonly ids: readonly JobId[] | null }

/** Why a job did not get another payload. CHANGED: since the caller saw it. */
export type PayloadOutcome =
  | 'done'
  | 'CHANGED'
  | 'INVALID_STATE'
  | 'UNIQUE_KEY_LIVE'
  | 'PARENT_LIVE'
  | 'JOB_NOT_FOUND'

/** Why a job was not requeued from a step. */
export type RerunOutcome = PayloadOutcome | 'STEP_NOT_FOUND'

export function refuseRerun(outcome: Exclude<RerunOutcome, 'done'>, { id, step }: Rerun): OncueError {
  switch (outcome) {
    case 'STEP_NOT_FOUND':
      return new OncueError(outcome, `Job ${id} has not recorded a step ${JSON.stringify(step)}`)
    case 'INVALID_STATE':
      return new OncueError(outcome, `Job ${id} was not requeued: it has not finished`)
    default:
      return refusePayload(outcome, id)
  }
}

export function refusePayload(outcome: Exclude<PayloadOutcome, 'done'>, id: JobId): OncueError {
  switch (outcome) {
    case 'CHANGED':
      return new OncueError('JOB_CHANGED', `Job ${id} has changed since it was read`)
    case 'INVALID_STATE':
      return new OncueError(
        outcome,
        `Job ${id} cannot get another payload: only finished jobs and jobs that wait for their retry can`,
      )
    case 'UNIQUE_KEY_LIVE':
      return new OncueError(outcome, `Job ${id} was not requeued: another job holds its unique key`)
    case 'PARENT_LIVE':
      return new OncueError(
        'INVALID_STATE',
        `Job ${id} was not requeued: its parent is live and uses its result`,
      )
    case 'JOB_NOT_FOUND':
      return new OncueError(outcome, `There is no job ${id}`)
  }
}

type Act = (ids: readonly JobId[], asOf: Date | null, by: string | null) => Promise<Acted[]>

type ActionAccess = {
  readonly now: () => Promise<Date>
  readonly match: Match
  readonly run: Act
  readonly runtime?: Runtime | undefined
}

/** Actions of people, on ids or on all jobs that a filter matched at a given moment, in short batches. */
export async function act(
  target: Target,
  options: ActionOptions,
  { now, match, run, runtime = systemRuntime }: ActionAccess,
): Promise<ActionReport> {
  assertTarget(target)
  const skipped: Record<string, number> = {}
  let done = 0
  const add = (reason: string, count: number) => {
    if (reason === 'done') done += count
    else if (count > 0) skipped[reason] = (skipped[reason] ?? 0) + count
  }
  const by = options.by ?? null
  try {
    for await (const { ids, asOf } of batches(target, options.asOf, now, match)) {
      const known = ids.filter(isUuid)
      add('JOB_NOT_FOUND', ids.length - known.length)
      for (const { reason, count } of await whileBusy(known, (left) => run(left, asOf, by), runtime))
        add(reason, count)
    }
  } catch (error) {
    throw withReport(error, { done, skipped })
  }
  return { done, skipped }
}

/** The batches before the failed one stay done, and the error reports them. */
function withReport(error: unknown, report: ActionReport): unknown {
  if (!isOncueError(error) || report.done === 0) return error
  const { code, message, hint, details } = error
  return new OncueError(code, message, { hint, details: { ...details, ...report }, cause: error.cause })
}

async function* batches(target: Target, asOf: Date | undefined, now: () => Promise<Date>, match: Match) {
  if (isIds(target)) {
    const ids = [...new Set(target)]
    for (let i = 0; i < ids.length; i += BATCH) yield { ids: ids.slice(i, i + BATCH), asOf: asOf ?? null }
    return
  }
  const filter = 'all' in target ? {} : target
  const moment = asOf ?? (await now())
  let after: ListPosition | null = null
  do {
    const found: Batch = await match(filter, moment, after, BATCH)
    yield { ids: found.ids, asOf: moment }
    after = found.next
  } while (after)
}

async function whileBusy(
  ids: readonly JobId[],
  run: (ids: readonly JobId[]) => Promise<Acted[]>,
  runtime: Runtime,
): Promise<Acted[]> {
  const settled: Acted[] = []
  let left = ids
  for (let attempt = 1; left.length > 0; attempt++) {
    const acted = await run(left)
    const busy = acted.find((entry) => entry.reason === 'BUSY')
    settled.push(...acted.filter((entry) => entry !== busy))
    if (!busy?.ids) break
    if (attempt === BUSY_ATTEMPTS) return [...settled, busy]
    left = busy.ids
    await runtime.sleep(backoff(attempt - 1, BUSY, runtime))
  }
  return settled
}

/** Refuses an empty target: it would reach jobs that the caller did not mean. */
function assertTarget(target: Target): void {
  if (isIds(target)) return
  const given: Record<string, unknown> = { ...target }
  const { all, ...conditions } = given
  if ('all' in given) {
    if (all !== true || Object.keys(conditions).length > 0)
      throw refused('target.all must be true, with no condition beside it')
    return
  }
  for (const [name, value] of Object.entries(conditions)) {
    if (!Object.hasOwn(jobFilterSchema.shape, name)) throw refused(`target.${name} is not a filter condition`)
    assertGiven(`target.${name}`, value)
    if (name === 'meta')
      for (const [key, one] of Object.entries(value as object)) assertGiven(`target.meta.${key}`, one)
    const isEmpty = typeof value === 'string' ? value.trim() === '' : isPlainAndEmpty(value)
    if (isEmpty) throw refused(`target.${name} is empty, which would match every job`)
  }
  if (Object.keys(conditions).length === 0)
    throw refused('target has no condition, which would match every job')
}

/** Statements omit such a condition, or such an entry of meta, and would match more. */
function assertGiven(name: string, value: unknown): void {
  if (value === undefined || value === null) throw refused(`${name} is ${value}, which would match every job`)
}

function isPlainAndEmpty(value: unknown): boolean {
  return typeof value === 'object' && !(value instanceof Date) && Object.keys(value ?? {}).length === 0
}

function refused(message: string): OncueError {
  return new OncueError('INVALID_INPUT', message, {
    hint: 'Remove empty conditions, or pass { all: true } to match every job.',
  })
}

/** The conditions that a filter has, checked as a target. */
export function toTarget(filter: JobFilter): ActionFilter {
  const conditions = Object.entries(filter).filter(([, value]) => value !== undefined)
  const target = Object.fromEntries(conditions) as ActionFilter
  assertTarget(target)
  return target
}

function isIds(target: Target): target is readonly JobId[] {
  return Array.isArray(target)
}

/** Removes up to `limit` jobs of one queue and topic, oldest first, with all that belongs to them. */
type PruneOne = (queue: string, topic: string, limit: number) => Promise<number>

/**
 * One batch: queue by queue and topic by topic, because that is how history is indexed. Those without
 * such a job are known from the counters and skipped.
 */
export async function prune(sql: Sql, rule: PruneRule, pruneOne: PruneOne): Promise<number> {
  const { status, finishedBefore, limit = 1_000 } = rule
  if (!FINISHED_STATUSES.includes(status)) throw invalid('status', 'must be completed, failed or cancelled')
  if (!Number.isInteger(limit) || limit < 1) throw invalid('limit', 'must be a whole number of 1 or more')
  if (Number.isNaN(finishedBefore.getTime())) throw invalid('finishedBefore', 'must be a valid date')
  const pairs = await sql.all<{ queue: string; topic: string }>(
    q`select queue, topic from ${counted(raw('1 = 1'))} c
      group by queue, topic having sum(${raw(status)}) > 0 order by queue, topic`,
  )
  let pruned = 0
  for (const { queue, topic } of pairs) {
    if (pruned >= limit) break
    pruned += await pruneOne(queue, topic, limit - pruned)
  }
  return pruned
}
