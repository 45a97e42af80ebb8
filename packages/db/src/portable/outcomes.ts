import { type JobId, LIMITS, OncueError } from '@oncue/core'
import { assertText } from '@oncue/core/internal'
import type { Transaction } from '../queue/transaction.ts'
import type { EnqueueIn, RunRef, Store } from '../store.ts'
import { isUuid } from '../uuid.ts'
import type { NewAnswer } from './asks.ts'
import type { RunSpawns } from './children.ts'
import { q, type Sql } from './sql.ts'

/** What later runs of a job rely on, and signals from outside. */
export interface DurableStore extends CommitStatements {
  /** Everything that is recorded for a job, in recorded order. */
  outcomes(id: JobId): Promise<Outcome[]>

  /** Live jobs of a topic that have recorded something or are suspended, those that were created last first. */
  live(topic: string, limit: number): Promise<JobId[]>

  /**
   * Records outcomes of runs, and delivers the signals that were sent to their jobs. The first record of a key stands,
   * so that a call may be sent twice. Returns, by the id of the job, what was recorded after `after`, without the
   * data that this call recorded, because the caller knows them. A stale run changes nothing and is returned. `worker` as for `settle`.
   */
  record(runs: readonly RunOutcomes[], worker?: string): Promise<Recorded>

  /**
   * Stores jobs and, with them, that the run has made them: sent twice, it stores them once. Children are kept, as long
   * as their parent lives, from being removed and, once completed, from being requeued. Returns what was recorded after
   * `after`; null if the run is stale, and then nothing was stored.
   */
  spawn(run: RunSpawns, worker?: string): Promise<Outcome[] | null>

  /**
   * The results of completed jobs, without those of others. RESULTS_TOO_LARGE, before they are read, if they take more
   * than `maxBytes`.
   */
  results(ids: readonly JobId[], maxBytes: number): Promise<ChildResults>

  /**
   * Sends a signal to a live job: JOB_NOT_FOUND, JOB_FINISHED or TOO_MANY_SIGNALS. It is kept until the job receives it. Without `tx` it is
   * delivered, and a suspended job that waits for it is due, when this returns; with the key of a signal that the job
   * has, even if it has ended, this changes nothing; if the delivery fails after the commit,
   * workers deliver it. With `tx` it belongs to the caller's
   * transaction, which locks no job; workers deliver it after the commit.
   */
  signal(signal: NewSignal, options?: EnqueueIn): Promise<void>

  /**
   * Answers an open question of a live job, which is due when this returns if it is suspended and waits for it. Refused:
   * JOB_NOT_FOUND, JOB_FINISHED, NOT_ASKED, ALREADY_ANSWERED, QUESTION_TIMED_OUT, and whatever `check` throws.
   */
  answer(answer: NewAnswer): Promise<void>

  /** Whether this run, of this worker, has completed its job. */
  hasCompleted(run: RunRef, worker: string | undefined): Promise<boolean>

  /** How far the clock of a test is ahead of the host's. Null: the database has the clock. */
  aheadMs(): number | null
}

/** Statements in transactions of the caller's. */
export interface CommitStatements {
  /** On SQLite: makes this transaction the only one that writes, so that it cannot fail later for another's sake. */
  openCommit(tx: Transaction): Promise<void>

  /**
   * Records the result of a commit as the last statement of the caller's transaction, which must be rolled back if this
   * throws: STALE_RUN, or DATABASE_CONFLICT if an earlier transaction has recorded it. On a better-sqlite3 connection
   * everything has happened, or thrown, before this returns.
   */
  commit(result: CommittedResult, tx: Transaction): Promise<void>

  /** Completes the job of a run, as `settle` does, in the caller's transaction, by the rules of `commit`. Waits for `before` first. */
  complete(run: CompletedRun, tx: Transaction, before?: () => Promise<void>): Promise<void>
}

/** What they need to know of a store. */
export type CommitSettings = Pick<Store, 'schema'> & {
  /** Of the database. */
  readonly dialect: Store['dialect']
  /** How many milliseconds its clock is ahead of the process. Null: the clock is the database's. */
  readonly aheadMs: ReturnType<DurableStore['aheadMs']>
}

/** `result` is JSON text. `worker` as for `settle`. */
export type CompletedRun = RunRef & {
  readonly worker: string | undefined
  readonly result?: string | undefined
}

/** `data` is JSON text. */
export type CommittedResult = RunRef & {
  readonly worker: string | undefined
  readonly key: string
  readonly data: string
}

export function staleCommit({ id, run }: RunRef): OncueError {
  return new OncueError('STALE_RUN', `run ${run} of job ${id} lost its lease; nothing was written`)
}

export function endedBefore({ id }: RunRef): OncueError {
  const message = `the transaction in which job ${id} was to be completed ended before; nothing was written`
  return new OncueError('UNSUPPORTED_TRANSACTION', message, {
    hint: 'Await ctx.complete in the transaction.',
  })
}

export function knownCommit({ id, key }: CommittedResult): OncueError {
  return new OncueError('DATABASE_CONFLICT', `${JSON.stringify(key)} of job ${id} was recorded before`)
}

export type OutcomeKind =
  | 'step'
  | 'step_failed'
  | 'timer'
  | 'signal'
  | 'timeout'
  | 'wait'
  | 'answer'
  | 'refused'
  | 'since'
  | 'spawn'
  | 'children'
  | 'undo'
  | 'undone'

/**
 * - `step`, `step_failed`: what a step returned, or the error that the handler survived
 * - `timer`: a sleep is over
 * - `signal`: a signal was delivered; `name` is its name
 * - `timeout`: a `receive` ended without a signal, or an `ask` without an answer
 * - `since`: whether the job takes a change of its handler's code
 * - `wait`: when a wait ends, as ISO text: the first one stands
 * - `answer`, `refused`: `{ value, by }`, of a question; a refused answer counts for nothing
 * - `spawn`: jobs that the run made, by the keys of their calls: `Spawned`
 * - `undo`: the run registered an undo; `undone`: it has run
 * - `children`: all children of a wait have ended: `EndedChildren`
 */
export type Outcome = {
  readonly key: string
  readonly seq: number
  readonly kind: OutcomeKind
  readonly name: string | null
  readonly data: unknown
}

export type NewOutcome = {
  readonly key: string
  /** `ask` opens a question, or opens it again; its data are those of an `Asking`. */
  readonly kind: Exclude<OutcomeKind, 'signal' | 'wait' | 'answer' | 'refused' | 'spawn'> | 'ask'
  /** JSON text. */
  readonly data?: string | undefined
  /** Recorded only if this moment has come, by the store's clock. */
  readonly dueAt?: Date | undefined
  /** Recorded only if no signal of this name was delivered after the outcome `seen`. */
  readonly unless?: { readonly signal: string; readonly seen: number } | undefined
  /** For the kind `children`: recorded only if these have all ended. */
  readonly children?: readonly JobId[] | undefined
}

/** A question as a run opens it. */
export type Asking = {
  readonly name: string
  readonly question: string
  /** JSON Schema of the answer. */
  readonly schema: unknown
  readonly role: string
  /** Ends the wait. The first end stands. */
  readonly delayMs?: number | undefined
  /** The number of an answer that does not fit, and why: it counts for nothing. */
  readonly refuses?: number | undefined
  readonly reason?: string | undefined
}

export type RunOutcomes = RunRef & {
  /** The last outcome that the caller knows. */
  readonly after: number
  readonly outcomes: readonly NewOutcome[]
}

export type ChildResults = { readonly results: ReadonlyMap<JobId, unknown>; readonly bytes: number }

export type Recorded = { readonly stale: RunRef[]; readonly recorded: ReadonlyMap<JobId, Outcome[]> }

/** A wait of a run that is suspended. */
export type SuspendedWait = {
  /** `retry`: the pause of a step or an undo that failed. */
  readonly kind: 'timer' | 'retry' | 'signal' | 'ask' | 'children'
  readonly name: string
  /** Names the wait among all of the job. */
  readonly key: string
  /** When it ends: a moment, or a delay from the suspension. The first is recorded. Neither: when a signal comes. */
  readonly until?: Date | undefined
  readonly delayMs?: number | undefined
  /** For a signal: the last one of this name that the run has used. */
  readonly after?: number | undefined
  /** The children of which all must have ended. */
  readonly children?: readonly JobId[] | undefined
}

export type NewSignal = {
  readonly id: JobId
  readonly name: string
  /** JSON text. */
  readonly data: string
  /** Of several signals with this name and key, one is delivered. */
  readonly key?: string | undefined
  /** Called with the topic of the job, before anything is written: throws if the signal does not fit it. */
  readonly check?: ((topic: string) => void) | undefined
}

export async function liveDurable(sql: Sql, topic: string, limit: number): Promise<JobId[]> {
  const rows = await sql.all<{ id: JobId }>(q`select j.id from {jobs} j
    where j.topic = ${topic} and j.run > 0
      and (j.waits is not null or exists (select 1 from {outcomes} o where o.job_id = j.id))
    order by j.id desc limit ${limit}`)
  return rows.map(({ id }) => id)
}

/** What a sender may write; throws otherwise. */
export function assertSignal({ id, name, key }: NewSignal): void {
  if (!isUuid(id)) throw new OncueError('JOB_NOT_FOUND', `There is no job ${JSON.stringify(id)}`)
  assertName(name, 'the name of a signal')
  // It separates name and key where the signal is recorded.
  if (name.includes(':')) throw new OncueError('INVALID_INPUT', 'the name of a signal must not contain ":"')
  if (key !== undefined) assertName(key, 'the key of a signal')
}

function assertName(text: unknown, what: string): void {
  if (typeof text !== 'string' || text === '' || text.length > LIMITS.signalNameLength) {
    throw new OncueError('INVALID_INPUT', `${what} must have 1 to ${LIMITS.signalNameLength} characters`)
  }
  assertText(text, what)
}

/** The key under which a signal is recorded; null: a signal without a key is recorded each time it is sent. */
export function signalKey({ name, key }: Pick<NewSignal, 'name' | 'key'>): string | null {
  return key === undefined ? null : `signal:${name}:key:${key}`
}

/** What a sender found of the job; `known`: it has a signal with this name and key. */
export type Receiver = {
  readonly topic: string
  readonly live: boolean
  readonly signals: number
  readonly known: boolean
}

/** Returns whether the signal is new: sent again with its key, it changes nothing. Refuses a job that cannot receive it. */
export function isNewSignal(signal: NewSignal, found: Receiver | undefined): boolean {
  if (!found) throw new OncueError('JOB_NOT_FOUND', `There is no job ${signal.id}`)
  if (found.known) return false
  if (!found.live) {
    const message = `Job ${signal.id} has finished: the signal ${JSON.stringify(signal.name)} was not sent`
    throw new OncueError('JOB_FINISHED', message)
  }
  signal.check?.(found.topic)
  if (found.signals >= LIMITS.signals) {
    const message = `Job ${signal.id} keeps ${found.signals} signals: ${JSON.stringify(signal.name)} was not sent`
    throw new OncueError('TOO_MANY_SIGNALS', message)
  }
  return true
}

/** Outcomes as a statement takes them, in the order in which rows are locked. */
export function encodeOutcomes(runs: readonly RunOutcomes[]): EncodedRun[] {
  return runs
    .toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : a.run - b.run))
    .map(({ id, run, after, outcomes }) => ({
      id,
      run,
      after,
      outcomes: outcomes.map(({ key, kind, data, dueAt, unless, children }) => ({
        key,
        kind,
        data: data ?? null,
        dueAt: dueAt?.toISOString() ?? null,
        signal: unless?.signal ?? null,
        seen: unless?.seen ?? null,
        children: children ?? null,
      })),
    }))
}

export type EncodedRun = RunRef & {
  readonly after: number
  readonly outcomes: readonly {
    readonly key: string
    readonly kind: string
    readonly data: string | null
    readonly dueAt: string | null
    readonly signal: string | null
    readonly seen: number | null
    readonly children: readonly JobId[] | null
  }[]
}

/** Collects what a store returns for `record`. */
export class RecordedRuns {
  readonly stale: RunRef[] = []
  readonly recorded = new Map<JobId, Outcome[]>()

  add(id: JobId, outcome: Outcome): void {
    const known = this.recorded.get(id)
    if (known) known.push(outcome)
    else this.recorded.set(id, [outcome])
  }
}
