import type { JobError, JobId } from '@oncue/core'
import { isInline } from '../../portable/enqueue.ts'
import type { RunRef, Settled, Settlement } from '../../store.ts'
import { toOncueError } from '../errors.ts'
import * as sql from '../sql.ts'
import { type EndedRun, Tally } from '../stats.ts'
import type { Durable } from './durable.ts'
import type { Ends } from './ends.ts'
import { appendEvent, appendFew, runData } from './events.ts'
import type { Limits } from './limits.ts'
import type { Statements } from './statements.ts'
import { type EndingColumn, endingOf, hasUndos, retriesOf, type Undo } from './undo.ts'

/** A row of CURRENT. */
export type CurrentRun = EndedRun & {
  readonly id: JobId
  readonly run: number
  readonly locked_by: string
  readonly retries: number
  readonly max_retries: number
  readonly crashes: number
  readonly unique_key: string | null
  /** A stop was requested: then it is not retried. */
  readonly cancel_at: number | null
  /** Another job took over its unique key: this run is its last too. */
  readonly replaced_by: JobId | null
} & EndingColumn

type Other = Exclude<Settlement, Completion>

export type Back = {
  readonly charged?: number
  readonly crashed?: number
  /** The run did not fail. */
  readonly snoozed?: number
  /** Unchanged when absent. */
  readonly runAt?: number
  readonly visibleAt: number
  readonly error?: JobError
}

/** Ends runs, all of one batch. Every write is fenced by (id, run) and status, and by the worker if one is given. */
export class Settle {
  readonly #statements: Statements
  readonly #ends: Ends
  readonly #limits: Limits
  readonly #durable: Durable
  readonly #undo: Undo

  constructor(statements: Statements, ends: Ends, limits: Limits, durable: Durable, undo: Undo) {
    this.#statements = statements
    this.#ends = ends
    this.#limits = limits
    this.#durable = durable
    this.#undo = undo
  }

  settle(settlements: readonly Settlement[], worker: string | null, now: number): Omit<Settled, 'refused'> {
    const completions: Completion[] = []
    const others: Other[] = []
    for (const settlement of settlements) {
      if (settlement.kind === 'complete') completions.push(settlement)
      else others.push(settlement)
    }
    const stale = completeAll(this.#statements, this.#ends, completions, worker, now)
    if (others.length === 0) return { stale }
    const ended = this.#settleOthers(others, worker, now)
    return { ...ended, stale: [...stale, ...ended.stale] }
  }

  /**
   * One run, in a transaction of the caller's, where a statement that fails ends the transaction. False: it is stale, or
   * completed before, when the other rows of the transaction are there already.
   */
  complete(completion: Completion, worker: string | null, now: number): boolean {
    const current = this.current(completion.id, completion.run)
    if (!current || (worker !== null && current.locked_by !== worker)) return false
    return completeAll(this.#statements, this.#ends, [completion], worker, now, keepOneByOne).length === 0
  }

  #settleOthers(settlements: readonly Other[], worker: string | null, now: number): Omit<Settled, 'refused'> {
    const stale: RunRef[] = []
    const cancelled: RunRef[] = []
    const undoing: RunRef[] = []
    const ended: JobId[] = []
    const keyed: JobId[] = []
    const back: JobId[] = []
    const tally = new Tally(now)
    for (const settlement of settlements) {
      const { id, run } = settlement
      const current = this.current(id, run)
      if (!current || (worker !== null && current.locked_by !== worker)) {
        stale.push({ id, run })
        continue
      }
      if (settlement.kind === 'retry' || settlement.kind === 'fail') {
        // What the row will no longer show once the job runs again.
        appendEvent(
          this.#statements,
          id,
          'run_failed',
          { ...runData(current, now), error: settlement.error },
          now,
        )
      }
      if (settlement.kind === 'suspend' && mayGoOn(current)) {
        const { waits, error } = settlement
        const data = {
          ...runData(current, now),
          for: waits.map(({ kind, name }) => ({ kind, name })),
          error: error ?? null,
        }
        this.#durable.suspend(settlement, now)
        // Also the failure of an attempt, as of a run.
        const append = error ? appendEvent : appendFew
        append(this.#statements, id, 'run_suspended', data, now)
        back.push(id)
        continue
      }
      const again = mayGoOn(current) ? backOf(settlement, current, now) : undefined
      if (again) {
        if (settlement.kind === 'snooze') {
          const data = { ...runData(current, now), delayMs: settlement.delayMs }
          appendFew(this.#statements, id, 'run_snoozed', data, now)
        } else if (settlement.kind === 'release' && settlement.interrupted) {
          appendFew(this.#statements, id, 'run_interrupted', runData(current, now), now)
        }
        this.putBack(id, again, now)
        if (settlement.kind === 'retry') tally.retry(current)
        back.push(id)
        continue
      }
      const isFailure =
        settlement.kind === 'fail' ||
        settlement.kind === 'undone' ||
        (settlement.kind === 'retry' && mayGoOn(current))
      const ending = settlement.kind === 'undone' ? endingOf(current) : null
      const status = ending?.status ?? (isFailure ? 'failed' : 'cancelled')
      const error = 'error' in settlement ? settlement.error : ending?.error
      if (hasUndos(current)) {
        this.#undo.begin({ id, status, error }, now)
        undoing.push({ id, run })
        back.push(id)
        continue
      }
      if (ending) this.#statements.run(sql.SET_FAILURE, ...storedError(ending.error), id)
      if (this.finish(current, status, error, now)) tally.run(current, status)
      ended.push(id)
      if (!isFailure && settlement.kind !== 'cancel') cancelled.push({ id, run })
      if (current.unique_key !== null) keyed.push(id)
    }
    this.#statements.write(tally.statements())
    this.#ends.afterFinish(ended, false, keyed, now)
    this.#limits.freeSlots(back, now)
    return {
      stale,
      ...(cancelled.length > 0 && { cancelled }),
      ...(undoing.length > 0 && { undoing }),
    }
  }

  current(id: JobId, run: number): CurrentRun | undefined {
    return this.#statements.get<CurrentRun>(sql.CURRENT, id, run)
  }

  /** Returns whether it is the job's first record; the first one is kept. */
  finish(
    { id, run }: RunRef,
    status: 'failed' | 'cancelled',
    error: JobError | undefined,
    now: number,
    crashed = 0,
  ): boolean {
    const [text, fingerprint] = storedError(error)
    const kept = this.#statements.run(sql.FINISH, crashed, text, fingerprint, now, now, status, id, run)
    this.#statements.run(sql.REMOVE, id)
    return kept > 0
  }

  putBack(
    id: JobId,
    { charged = 0, crashed = 0, snoozed = 0, runAt, visibleAt, error }: Back,
    now: number,
  ): void {
    const [text, fingerprint] = storedError(error)
    const values = [now, charged, crashed, runAt ?? null, visibleAt, text, snoozed, fingerprint, id]
    this.#statements.run(sql.PUT_BACK, ...values)
  }
}

function storedError(error: JobError | undefined): [text: string | null, fingerprint: string | null] {
  return error ? [JSON.stringify(error), error.fingerprint] : [null, null]
}

/** After this run. */
export function mayGoOn({ cancel_at, replaced_by }: CurrentRun): boolean {
  return cancel_at === null && replaced_by === null
}

/** How the job continues, or undefined if it has ended. */
function backOf(settlement: Other, current: CurrentRun, now: number): Back | undefined {
  switch (settlement.kind) {
    case 'release':
      return { visibleAt: now }
    case 'snooze':
      return { snoozed: 1, runAt: now + settlement.delayMs, visibleAt: now + settlement.delayMs }
    case 'retry': {
      if (current.retries >= retriesOf(current)) return undefined
      const due = now + settlement.delayMs
      return { charged: 1, runAt: due, visibleAt: due, error: settlement.error }
    }
    case 'fail':
    case 'cancel':
    case 'suspend':
    case 'undone':
      return undefined
  }
}

type Completion = Extract<Settlement, { kind: 'complete' }>

/** A row of COMPLETING. */
type CompletingRun = RunRef & EndedRun & { readonly locked_by: string; readonly unique_key: string | null }

type Done = { readonly current: CompletingRun; readonly result: string | null }

/** Moves runs that completed to history, all of one batch. Returns the stale ones. */
function completeAll(
  statements: Statements,
  ends: Ends,
  completions: readonly Completion[],
  worker: string | null,
  now: number,
  keepThem = keep,
): RunRef[] {
  if (completions.length === 0) return []
  const { done, others } = match(statements, completions, worker)
  if (done.length > 0) {
    const ids = done.map(({ current }) => current.id)
    statements.write(keepThem(statements, done, now).statements())
    statements.run(sql.REMOVE_ALL, JSON.stringify(ids))
    const keyed = done.filter(({ current }) => current.unique_key !== null).map(({ current }) => current.id)
    ends.afterFinish(ids, true, keyed, now)
  }
  // A settle that is sent again finds its own work done: not stale.
  return others
    .filter(({ id, run }) => !statements.get(sql.IS_COMPLETED, id, run, worker, worker))
    .map(({ id, run }) => ({ id, run }))
}

/** The fence: those whose run is the current one, each once. */
function match(statements: Statements, completions: readonly Completion[], worker: string | null) {
  const ids = JSON.stringify(completions.map(({ id }) => id))
  const current = new Map<JobId, CompletingRun>()
  for (const row of statements.all<CompletingRun>(sql.COMPLETING, ids)) current.set(row.id, row)
  const done: Done[] = []
  const others: Completion[] = []
  for (const completion of completions) {
    const run = current.get(completion.id)
    const isCurrent = run?.run === completion.run && (worker === null || run.locked_by === worker)
    if (isCurrent && current.delete(run.id)) {
      done.push({ current: run, result: completion.result ?? null })
    } else others.push(completion)
  }
  return { done, others }
}

function keep(statements: Statements, done: readonly Done[], now: number): Tally {
  try {
    return keepAll(statements, done, now)
  } catch (error) {
    if (!isKnownId(error)) throw error
    // One of them was enqueued again after it had finished. The failed statement has changed nothing.
    return keepOneByOne(statements, done, now)
  }
}

function keepAll(statements: Statements, done: readonly Done[], now: number): Tally {
  const plain: JobId[] = []
  const withResult: [id: JobId, result: string][] = []
  const big: [id: JobId, result: string][] = []
  const tally = new Tally(now)
  for (const { current, result } of done) {
    tally.run(current, 'completed')
    if (result !== null && isInline(result)) withResult.push([current.id, result])
    else plain.push(current.id)
    if (result !== null && !isInline(result)) big.push([current.id, result])
  }
  if (plain.length > 0) statements.run(sql.COMPLETE, now, now, JSON.stringify(plain))
  if (withResult.length > 0) statements.run(sql.COMPLETE_WITH_RESULT, now, now, JSON.stringify(withResult))
  for (const [id, result] of big) statements.run(sql.KEEP_RESULT, id, result)
  return tally
}

/** The first record of a job is kept, and is counted once. */
function keepOneByOne(statements: Statements, done: readonly Done[], now: number): Tally {
  const tally = new Tally(now)
  for (const { current, result } of done) {
    const inline = result === null || isInline(result)
    if (statements.run(sql.COMPLETE_ONE, now, now, inline ? result : null, current.id) === 0) continue
    tally.run(current, 'completed')
    if (!inline) statements.run(sql.KEEP_RESULT, current.id, result)
  }
  return tally
}

function isKnownId(error: unknown): boolean {
  return toOncueError(error).details?.code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
}
