import { type JobId, type JobStatus, OncueError } from '@oncue/core'
import type {
  AuditEntry,
  BulkOperation,
  BulkOperationStatus,
  FoundJobs,
  JobFilter,
  BulkOperationRequest as WireRequest,
} from '@oncue/core/wire'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { type Acted, type ActionBatch, BATCH, BUSY_ATTEMPTS } from './actions.ts'
import { insertEntries, type NewAuditEntry } from './audit.ts'
import { afterLook, awaitsCanary, look, NO_OUTCOMES, remember, saveOutcomes } from './bulk-outcomes.ts'
import type { ListPosition } from './reads/cursor.ts'
import { byIdStatement, STATE_COLUMNS, STATE_TYPES, type StateRow, shownState } from './reads/jobs.ts'
import type { Batch, Match } from './reads/list.ts'
import { type Fragment, q, readAll, type Sql } from './sql.ts'

export type { BulkOperationStatus }
export type BulkOperationError = NonNullable<BulkOperation['error']>

/** An action on all jobs that a filter matched at a given moment. */
export type BulkOperationRequest = Omit<WireRequest, 'expectedCount' | 'spreadSeconds'> & {
  /** Milliseconds over which it is spread; 0: as fast as other work allows. */
  readonly spreadMs: number
  /** Repeating `idempotencyKey` as the same actor returns the same operation. */
  readonly actor: AuditEntry['actor']
}

type MatchCount = Pick<BulkOperation, 'total' | 'totalIsExact'>
/** `filterError` is missing where the filter names no error. */
type CountedMatches = MatchCount & Partial<Pick<BulkOperation, 'filterError'>>
export type NewBulkOperation = BulkOperationRequest & CountedMatches
export type BulkOperationPreview = MatchCount & FoundJobs

export type BulkOperationRow = Omit<BulkOperation, 'filter' | 'spreadSeconds' | 'by'> &
  Omit<BulkOperationRequest, 'idempotencyKey' | 'canary' | 'stopWhenFailing'> & {
    /** How many batches it took. The process that does the next one must have read this one. */
    readonly step: number
    /** Null: it starts at the beginning. */
    readonly position: OperationPosition | null
    /** Whether there is work left: batches, or outcomes to count. */
    readonly isOpen: boolean
  }

export type OperationPosition = {
  /** The last job that the walk has passed; null: it is at the end. */
  readonly next: ListPosition | null
  /** Jobs of the last batch that were being claimed or settled, and how often they were tried. */
  readonly busy: readonly JobId[]
  readonly tries: number
}

/** The name, with the id, under which a process leads an operation (`Store.lead`). */
export const BULK_OPERATION_LEAD = 'operation:'

/**
 * The steps of a bulk operation: bounded batches, which another process can continue. A batch, its counts and the audit
 * entry of its end are one transaction: nothing is done or counted twice.
 */
export interface BulkOperationStore {
  /**
   * How many jobs matched at that moment: exact up to 100,000, a lower bound above; `all` counts on as long as
   * a caller can wait. Says which error a fingerprint stands for: its jobs may be gone later. INVALID_INPUT for a search that takes too long.
   */
  count(filter: JobFilter, asOf: Date, howMany?: 'enough' | 'all'): Promise<CountedMatches>
  /** The same, with samples and groups of the jobs. */
  preview(filter: JobFilter, asOf: Date): Promise<BulkOperationPreview>
  /**
   * Does the next batch, of up to `limit` jobs and never more than 500, if it still runs and has not changed since
   * it was read. Null: it was stopped, or another process did that batch. Its end is recorded in the audit, under the
   * actor that began it.
   */
  advance(seen: BulkOperationRow, limit?: number): Promise<BulkOperationRow | null>
  /**
   * Counts the outcomes of up to 1,000 of its jobs that are still open, from the batch after `after`, and decides by
   * them: a canary that passed lets the rest begin, too many that failed again stop it. Null: it has changed since it
   * was read.
   */
  follow(seen: BulkOperationRow, after?: number | null): Promise<Followed | null>
  /** It cannot continue. Null: it has ended, or has changed since it was read. */
  fail(seen: BulkOperationRow, error: BulkOperationError): Promise<BulkOperationRow | null>
}

type Followed = {
  readonly operation: BulkOperationRow
  /** The batch after which the next count continues; null: this was the last part. */
  readonly next: number | null
}

/** A batch of an action, and further writes, in one transaction. */
export type FencedAction = {
  /** Locks and changes a row; if it changes none, nothing else happens. */
  readonly fence: Fragment
  /** Null: no action, only the writes. */
  readonly batch: ActionBatch | null
  readonly account: (acted: readonly Acted[]) => readonly Fragment[]
}

type Host = {
  readonly match: Match
  /** False: the fence did not hold. */
  readonly act: (action: FencedAction) => Promise<boolean>
}

/** Written once for both databases. */
export function createBulkOperations(sql: Sql, { match, act }: Host): BulkOperationStore {
  /** Does the batch and stores the new state of the operation, if its state has not changed meanwhile. */
  async function writeDown(
    seen: BulkOperationRow,
    batch: ActionBatch | null,
    afterIt: (acted: readonly Acted[]) => BulkOperationRow,
    beside: (acted: readonly Acted[]) => readonly Fragment[] = () => [],
  ): Promise<BulkOperationRow | null> {
    let after = seen
    const isMine = await act({
      fence: q`update {bulk_operations} set step = step + 1
        where id = ${seen.id} and step = ${seen.step} and status = ${seen.status}`,
      batch,
      account(acted) {
        after = { ...afterIt(acted), step: seen.step + 1 }
        const { finishedAt } = after
        const end = finishedAt && !seen.finishedAt ? insertEntries([endEntry(after)], finishedAt) : []
        return [save(after), ...beside(acted), ...end]
      },
    })
    return isMine ? after : null
  }

  /** The jobs whose outcomes are followed. */
  const remembered =
    ({ id, step, outcomes }: BulkOperationRow) =>
    (acted: readonly Acted[]) => {
      const ids = outcomes ? idsOf(acted, 'done') : []
      return ids.length > 0 ? [remember(sql.dialect, { id, step: step + 1 }, ids)] : []
    }

  return {
    async count(filter, asOf, howMany) {
      const { newest, ...count } = await countMatches(match, filter, asOf, howMany, undefined, sql.runtime)
      if (filter.fingerprint === undefined) return count
      const filterError = (await lookAt(sql, newest.slice(-SAMPLE))).map(errorOf).find(Boolean) ?? null
      return { ...count, filterError }
    },

    async preview(filter, asOf) {
      return describeMatches(sql, await countMatches(match, filter, asOf, 'enough', undefined, sql.runtime))
    },

    async advance(seen, limit = BATCH) {
      if (seen.finishedAt) return null
      if (awaitsCanary(seen)) return seen
      const { action, filter, asOf, actor, position, canary, done } = seen
      const most = seen.status === 'canary' && canary ? Math.min(canary.count - done, limit) : limit
      const { ids, next } = position?.busy.length
        ? { ids: position.busy, next: position.next }
        : await match(filter, asOf, position?.next ?? null, Math.min(most, BATCH))
      const now = await sql.now()
      const batch = ids.length > 0 ? { action, ids, asOf, by: actor.name } : null
      return writeDown(seen, batch, (acted) => afterBatch(seen, next, acted, now), remembered(seen))
    },

    async follow(seen, after = null) {
      const found = seen.outcomes ? await look(sql, seen, after) : null
      const next = found?.next ?? null
      const now = await sql.now()
      const { outcomes = NO_OUTCOMES, isSettled = true, changed = [] } = found ?? {}
      const operation = afterLook(seen, { outcomes, isSettled, next }, after === null, now)
      const { status, isOpen } = operation
      if (changed.length === 0 && status === seen.status && isOpen === seen.isOpen)
        return { operation: seen, next }
      const saved = () => saveOutcomes(seen.id, changed)
      const written = await writeDown(seen, null, () => operation, saved)
      return written && { operation: written, next }
    },

    async fail(seen, error) {
      if (seen.finishedAt) return null
      const now = await sql.now()
      return writeDown(seen, null, () => ({
        ...seen,
        status: 'failed',
        error,
        updated: now,
        finishedAt: now,
      }))
    },
  }
}

function save(operation: BulkOperationRow): Fragment {
  const { id, status, done, skipped, total, totalIsExact, position, error, updated, finishedAt } = operation
  const { outcomes, isOpen } = operation
  return q`update {bulk_operations} set status = ${status}, done = ${done}, skipped = ${JSON.stringify(skipped)},
      total = ${total}, total_is_exact = ${totalIsExact}, position = ${position && JSON.stringify(position)},
      error = ${error && JSON.stringify(error)}, updated = ${updated}, finished_at = ${finishedAt},
      outcomes = ${outcomes && JSON.stringify(outcomes)}, is_open = ${isOpen}
    where id = ${id}`
}

/** The state of an operation after a batch. */
function afterBatch(
  seen: BulkOperationRow,
  next: ListPosition | null,
  acted: readonly Acted[],
  now: Date,
): BulkOperationRow {
  const tries = (seen.position?.busy.length ? seen.position.tries : 0) + 1
  const busy = tries < BUSY_ATTEMPTS ? idsOf(acted, 'BUSY') : []
  const skipped = { ...seen.skipped }
  let { done } = seen
  for (const { reason, count } of acted) {
    if (reason === 'done') done += count
    else if (count > 0 && !(reason === 'BUSY' && busy.length > 0))
      skipped[reason] = (skipped[reason] ?? 0) + count
  }
  const handled = Object.values(skipped).reduce((sum, count) => sum + count, done)
  const isOver = next === null && busy.length === 0
  const outcomes = seen.outcomes && { ...seen.outcomes, waiting: seen.outcomes.waiting + done - seen.done }
  return {
    ...seen,
    done,
    skipped,
    outcomes,
    // Where more matched than were counted, the walk finds the total.
    total: Math.max(seen.total, handled),
    totalIsExact: seen.totalIsExact || isOver,
    position: isOver ? null : { next, busy, tries },
    updated: now,
    ...(isOver && { status: 'completed', finishedAt: now, isOpen: outcomes !== null && done > 0 }),
  }
}

function idsOf(acted: readonly Acted[], wanted: string): readonly JobId[] {
  return acted.find(({ reason }) => reason === wanted)?.ids ?? []
}

/** Recorded under the person who began it, because no request caused it. */
function endEntry({ id, action, status, skipped, error, done, actor }: BulkOperationRow): NewAuditEntry {
  const target = { id, action, status, skipped, ...(error && { error }) }
  return { actor, action: 'bulkOperations.end', target, count: done }
}

/** An exact count up to here is enough to decide by. */
const ENOUGH = 100_000
/** Counts in steps, between which other work can run. */
const COUNT_STEP = 5_000
/** How long a caller waits for a count at most. */
const COUNT_MS = 10_000
/** How many jobs a preview reads, and how many of them it shows. */
const LOOK_AT = 2_000
const SAMPLE = 10
const MOST_ERRORS = 20

type Counted = MatchCount & { readonly newest: readonly JobId[] }

/** Jobs that matched at a given moment, with the newest of those that were counted. */
export async function countMatches(
  match: Match,
  filter: JobFilter,
  asOf: Date,
  howMany: 'enough' | 'all' = 'enough',
  withinMs = COUNT_MS,
  runtime: Runtime = systemRuntime,
): Promise<Counted> {
  const deadline = runtime.monotonic() + withinMs
  let total = 0
  let newest: readonly JobId[] = []
  let after: ListPosition | null = null
  do {
    const { ids, next }: Batch = await match(filter, asOf, after, COUNT_STEP)
    total += ids.length
    newest = [...newest, ...ids].slice(-LOOK_AT)
    if (total > ENOUGH && howMany === 'enough') return { total: ENOUGH, totalIsExact: false, newest }
    if (next && runtime.monotonic() > deadline) {
      if (total > ENOUGH) return { total, totalIsExact: false, newest }
      throw new OncueError('INVALID_INPUT', 'filter takes too long: no index serves it', {
        hint: 'Add a topic or a queue, or a shorter period with createdFrom and createdTo.',
      })
    }
    after = next
  } while (after)
  return { total, totalIsExact: true, newest }
}

type LookedAt = Pick<FoundJobs['sample'][number], 'id' | 'topic' | 'queue'> &
  StateRow & {
    readonly class: string | null
    readonly message: string | null
    readonly fingerprint: string | null
  }

const COLUMNS = `n.id, n.topic, n.queue, n.last_error ->> 'class' as class,
  n.last_error ->> 'message' as message, n.last_error ->> 'fingerprint' as fingerprint`

/** The newest first. */
async function lookAt(sql: Sql, ids: readonly JobId[]): Promise<LookedAt[]> {
  const { live, finished } = STATE_COLUMNS
  const of = byIdStatement(sql.dialect, ids, `${COLUMNS}, ${live}`, `${COLUMNS}, ${finished}`)
  const rows = await readAll<LookedAt>(sql, of, STATE_TYPES)
  const found = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => found.get(id) ?? []).reverse()
}

const errorOf = ({ class: name, message }: LookedAt) =>
  name === null ? null : { class: name, message: message ?? '' }

/** What those jobs are, without their payloads. */
async function describeMatches(sql: Sql, { newest, ...count }: Counted): Promise<BulkOperationPreview> {
  const [now, seen] = await Promise.all([sql.now(), lookAt(sql, newest)])
  const errors = seen.filter((row) => row.class !== null)
  // As in the list of failures: messages of one error differ by what they quote.
  const kinds = tally(errors, (row) => row.fingerprint ?? JSON.stringify([row.class, row.message]))
  return {
    ...count,
    byStatus: Object.fromEntries(
      tally(seen, (row) => stateOf(row, now)).map(([row, n]) => [stateOf(row, now), n]),
    ),
    byError: kinds
      .slice(0, MOST_ERRORS)
      .map(([row, n]) => ({ class: row.class ?? '', message: row.message ?? '', count: n })),
    errorKinds: kinds.length,
    inspected: seen.length,
    sample: seen.slice(0, SAMPLE).map(({ id, topic, queue, status }) => ({ id, topic, queue, status })),
  }
}

/** Its status, if that says what can be done with it. */
function stateOf(row: StateRow, now: Date): JobStatus | 'suspended' | 'undoing' {
  const { isSuspended, ending } = shownState(row, now)
  if (ending) return 'undoing'
  return isSuspended ? 'suspended' : row.status
}

/** One of each kind, with how many there are, the most frequent first. */
function tally<Item>(items: readonly Item[], kindOf: (item: Item) => string): [Item, number][] {
  const kinds = new Map<string, [Item, number]>()
  for (const item of items) {
    const [first, count] = kinds.get(kindOf(item)) ?? [item, 0]
    kinds.set(kindOf(item), [first, count + 1])
  }
  return [...kinds.values()].sort(([, a], [, b]) => b - a)
}
