import {
  type FailedChild,
  isOncueError,
  type JobDefinition,
  type JobError,
  type JobId,
  OncueError,
  type Received,
  type SettledChild,
  StepError,
  type StepOptions,
} from '@oncue/core'
import { describeError, parseSignal, signalSchema } from '@oncue/core/internal'
import {
  type Asking,
  type ClaimedJob,
  type EndedChildren,
  isRepeatable,
  type NewOutcome,
  type NewSpawn,
  type Outcome,
  type Store,
  type SuspendedWait,
} from '@oncue/db'
import { backoff, type Runtime } from '@oncue/runtime'
import { type AbortReason, isAbort } from '../abort.ts'
import type { AskRequest, GivenAnswer, RefusedAnswer } from '../ask.ts'
import type { OutcomeRecorder } from '../outcome-recorder.ts'
import {
  assertCallName,
  assertNotNested,
  assertStepOptions,
  createSteps,
  type StepRecord,
  toMilliseconds,
  type Work,
} from '../steps.ts'
import { pauseKey } from './recorded.ts'
import { Replay } from './replay.ts'
import { type ChildRef, hashOf } from './spawn-calls.ts'
import { Spawns } from './spawns.ts'
import { QUIET_MS, Suspension, type WaitingRun } from './suspension.ts'
import {
  isUndoing,
  type RegisteredUndo,
  type UndoEnd,
  undoFailed,
  undoMissing,
  withUndoRetry,
} from './undo.ts'

/** A run as its waits see it. */
export interface DurableRun extends WaitingRun {
  readonly job: ClaimedJob
  readonly signal: AbortSignal
  readonly aborted: AbortReason | null
  lose(): void
  /** The job is being undone, and the handler has repeated what was recorded: it is dropped, and its undos run. */
  stop(): void
  refuseRepeat(error: OncueError): void
}

export interface DurableOptions {
  readonly store: Pick<Store, 'durable'>
  readonly recorder: OutcomeRecorder
  readonly runtime: Runtime
  readonly definition: Pick<JobDefinition, 'signals'>
  /** A result of a child, by the schema of its topic. */
  readonly parseResult: (topic: string, result: unknown) => unknown
  /** A step has finished whose events do not say so: for the job's event stream. */
  readonly onStep: (name: string, text: string | undefined) => void
  readonly onUndone: (name: string) => void
}

/** What is repeated until it succeeds: the keys of its outcome and of its pauses begin so. */
type Repeated = { readonly key: 'step' | 'undone'; readonly pause: 'retry' | 'undo_retry' }
const STEP: Repeated = { key: 'step', pause: 'retry' }
const UNDO: Repeated = { key: 'undone', pause: 'undo_retry' }

/** Of the results of the children of one call. */
const MAX_RESULT_BYTES = 16 * 2 ** 20
const RESULT_PAGE = 500

/** Of a transaction that loses to others. */
const COMMIT_ATTEMPTS = 10
const COMMIT_BACKOFF = { firstMs: 10, maxMs: 1_000 }

/** The steps, sleeps, receives and children of a run: `Replay` decides when each is answered, `Suspension` when the run leaves. */
export class Durable implements StepRecord {
  readonly #run: DurableRun
  readonly #options: DurableOptions
  readonly #replay: Replay
  #suspension: Suspension
  readonly #spawns: Spawns
  /** Calls that wait for children. */
  #groups = 0
  readonly #used = new Set<string>()
  readonly #receives = new Map<string, { count: number; open: Promise<Received<unknown>> | undefined }>()
  readonly #changes = new Map<string, Promise<boolean>>()
  readonly #undos = new Map<string, RegisteredUndo>()
  /**
   * Of a job that is being undone: `replays` until the handler comes to something that is not recorded, then `undoes`. In
   * both, nothing new begins: such a call never returns.
   */
  #ending: 'no' | 'replays' | 'undoes' = 'no'
  /** Steps whose work runs. */
  readonly #running = new Set<string>()
  #isReplaying: boolean
  #isOver = false

  constructor(run: DurableRun, options: DurableOptions) {
    const { store, recorder, runtime } = options
    this.#run = run
    this.#options = options
    if (isUndoing(run.job)) this.#ending = 'replays'
    this.#isReplaying = run.job.waits !== null || isUndoing(run.job)
    this.#replay = new Replay({
      job: run.job,
      store,
      recorder,
      runtime,
      onAnswered: (key) => this.#suspension.forget(key),
      onTold: () => this.#suspension.stir(),
      isWorking: (calls) => this.#suspension.isWorking(calls),
      lose: () => run.lose(),
    })
    this.#suspension = new Suspension(isUndoing(run.job) ? stopping(run) : run, this.#replay, runtime)
    this.#spawns = new Spawns({
      job: run.job,
      replay: this.#replay,
      recorder,
      runtime,
      lose: () => run.lose(),
    })
  }

  get signal(): AbortSignal {
    return this.#run.signal
  }

  get isEnding(): boolean {
    return this.#isOver || this.#run.aborted !== null
  }

  /** A resume that has only repeated what earlier runs did: its logs were written by them. */
  get isReplaying(): boolean {
    return this.#isReplaying
  }

  // --- steps

  async begin(name: string): Promise<{ readonly result: unknown } | { readonly attempts: number }> {
    const key = this.#claim(`step:${name}`, 'step', name)
    return this.#calling(async () => {
      await this.#loadFor(key)
      if (this.#stopsAt(key)) {
        this.#replay.skipPauses(`retry:${name}`)
        return this.#hang(key)
      }
      return this.#begin(STEP, name)
    })
  }

  async #begin(
    kind: Repeated,
    name: string,
  ): Promise<{ readonly result: unknown } | { readonly attempts: number }> {
    const key = `${kind.key}:${name}`
    const call = `${kind.pause}:${name}`
    const { recorded } = this.#replay
    if (recorded.has(key)) {
      this.#replay.skipPauses(call)
      const { kind, data } = await this.#replay.ask(key)
      if (kind === 'step_failed') throw new StepError(name, data as JobError)
      return { result: (data as { result?: unknown }).result }
    }
    let attempts = 0
    for (const attempt of recorded.pausesOf(call)) {
      attempts = attempt
      await this.#await({ kind: 'retry', name, key: pauseKey(call, attempt) })
    }
    this.#goLive()
    this.#running.add(key)
    this.#suspension.beginStep()
    return { attempts }
  }

  async finish(name: string, text: string | undefined, isTold: boolean): Promise<unknown> {
    try {
      this.#assertMine()
      // An object, because a result that is null is not a result that is missing.
      await this.#replay.record({
        key: `step:${name}`,
        kind: 'step',
        data: text === undefined ? '{}' : `{"result":${text}}`,
      })
      if (!isTold) this.#options.onStep(name, text)
      return text === undefined ? undefined : JSON.parse(text)
    } finally {
      this.#endStep(`step:${name}`)
    }
  }

  async fail(name: string, error: unknown): Promise<void> {
    this.#endStep(`step:${name}`)
    const { aborted } = this.#run
    if (this.#isOver || (aborted && (aborted !== 'shutdown' || isAbort(error, aborted)))) return
    const data = JSON.stringify(describeError(error, this.#run.job.topic))
    const inTurn = this.#replay.fail({ key: `step:${name}`, kind: 'step_failed', data })
    if (inTurn) await inTurn
  }

  pause(name: string, attempt: number, delayMs: number): Promise<void> {
    return this.#pause(STEP, name, attempt, delayMs)
  }

  async #pause({ pause }: Repeated, name: string, attempt: number, delayMs: number): Promise<void> {
    this.#assertMine()
    if (delayMs <= QUIET_MS) return this.#sleepHere(delayMs)
    const key = pauseKey(`${pause}:${name}`, attempt)
    await this.#suspension.pausing(() => this.#await({ kind: 'retry', name, key, delayMs }))
  }

  /**
   * Runs a transaction that records the result of a step as its last statement, again as long as it fails by no fault of
   * its own. `onSent` is called before that statement: from then on only the store knows whether it was committed.
   */
  async commit(name: string, transact: (key: string, onSent: () => void) => Promise<void>): Promise<unknown> {
    const key = `step:${name}`
    try {
      for (let attempt = 1; ; attempt++) {
        this.#assertMine()
        // The handler has survived these, and writes its rows because of them.
        if (this.#replay.hasFailures) await this.#replay.send([])
        let isSent = false
        const onSent = () => {
          isSent = true
        }
        const failed = await transact(key, onSent).then(
          () => undefined,
          (error: unknown) => ({ error }),
        )
        // Waits for the lock of a transaction that is still under way after its connection was lost.
        if (isSent) await this.#replay.send([])
        if (this.#replay.recorded.has(key)) break
        if (!failed) throw notCommitted(name)
        if (!isRepeatable(failed.error) || attempt === COMMIT_ATTEMPTS) throw failed.error
        await this.#sleepHere(backoff(attempt, COMMIT_BACKOFF, this.#options.runtime))
      }
      const { data } = await this.#replay.ask(key, { isRecorded: true })
      const { result } = data as { readonly result?: unknown }
      this.#options.onStep(name, result === undefined ? undefined : JSON.stringify(result))
      return result
    } catch (error) {
      await this.fail(name, error)
      throw error
    } finally {
      this.#endStep(key)
    }
  }

  unstored(name: string, error: OncueError): void {
    this.#endStep(`step:${name}`)
    this.#run.refuseRepeat(error)
  }

  #endStep(key: string): void {
    if (this.#running.delete(key)) this.#suspension.endStep()
  }

  // --- waits

  async sleep(name: string, until: unknown): Promise<void> {
    assertNotNested('sleep')
    assertCallName(name, 'sleep')
    const moment = until instanceof Date ? until : undefined
    if (moment && Number.isNaN(moment.getTime())) {
      throw new OncueError('INVALID_DATE', `ctx.sleep(${JSON.stringify(name)}) got an invalid Date`)
    }
    const delayMs = moment ? undefined : toMilliseconds(until, 'the duration of ctx.sleep')
    const key = this.#claim(`sleep:${name}`, 'sleep', name)
    await this.#calling(async () => {
      await this.#loadFor(key)
      const { recorded } = this.#replay
      const isShort = delayMs !== undefined && delayMs <= QUIET_MS && !recorded.has(`wait:${key}`)
      if (recorded.has(key)) await this.#replay.ask(key)
      else if (this.#stopsAt(key)) await this.#hang(key)
      else if (isShort) {
        this.#goLive()
        await this.#suspension.working(async () => {
          await this.#sleepHere(delayMs)
          await this.#replay.record({ key, kind: 'timer' })
        })
      } else await this.#wait({ kind: 'timer', name, key, until: moment, delayMs })
    })
  }

  receive(name: string, options: { readonly timeout?: unknown } = {}): Promise<Received<unknown>> {
    const state = this.#receives.get(name) ?? { count: 0, open: undefined }
    this.#receives.set(name, state)
    // The loser of a race takes no signal from the next one that waits.
    state.open ??= this.#receive(name, options, state).finally(() => {
      state.open = undefined
    })
    return state.open
  }

  async #receive(
    name: string,
    { timeout }: { readonly timeout?: unknown },
    state: { count: number },
  ): Promise<Received<unknown>> {
    assertNotNested('receive')
    const { topic } = this.#run.job
    const schema = signalSchema(this.#options.definition, name, topic)
    const delayMs = timeout === undefined ? undefined : toMilliseconds(timeout, 'options.timeout')
    state.count += 1
    const key = `receive:${name}#${state.count}`
    return this.#calling(async () => {
      await this.#load()
      const { kind, data } = await this.#wait({ kind: 'signal', name, key, delayMs })
      if (kind === 'timeout') return { timedOut: true }
      return { timedOut: false, value: parseSignal(schema, data, topic) }
    })
  }

  /** Waits for an answer; `refused` is one that it returned before, and that the handler does not accept. */
  async ask(name: string, request: AskRequest, refused?: RefusedAnswer): Promise<GivenAnswer> {
    const { timeout, ...rest } = request
    const delayMs = timeout === undefined ? undefined : toMilliseconds(timeout, 'options.timeout')
    const key = refused ? `ask:${name}` : this.#claim(`ask:${name}`, 'question', name)
    if (refused) this.#replay.recorded.forget(key)
    const asking: Asking = { ...rest, name, delayMs, refuses: refused?.seq, reason: refused?.reason }
    return this.#calling(async () => {
      await this.#loadFor(key)
      const opening = { key, kind: 'ask', data: JSON.stringify(asking) } as const
      const { kind, seq, data } = await this.#wait({ kind: 'ask', name, key, delayMs }, [opening])
      if (kind === 'timeout') return { timedOut: true }
      return { timedOut: false, ...(data as { value: unknown; by: string }), seq }
    })
  }

  // --- children

  /** Until all jobs that the handler made are written; undefined: they are. */
  get spawning(): Promise<void> | undefined {
    return this.#spawns.writing
  }

  spawn(spawn: NewSpawn): Promise<JobId> {
    this.#assertMine()
    if (this.#ending !== 'no') return this.#spawnAgain(spawn)
    // No wait, and nothing of the handler's own: it does not make the run a concurrent one.
    return this.#suspension.working(async () => {
      await this.#replay.load()
      if (!this.#replay.recorded.has(spawn.key)) this.#goLive()
      return this.#spawns.add(spawn)
    })
  }

  /** Of a job that is being undone: none but what an earlier run made. */
  async #spawnAgain(spawn: NewSpawn): Promise<JobId> {
    await this.#load()
    return this.#stopsAt(spawn.key) ? this.#hang(spawn.key) : this.#spawns.add(spawn)
  }

  async settled(children: readonly ChildRef[]): Promise<SettledChild[]> {
    this.#groups += 1
    const name = `all#${this.#groups}`
    if (children.length === 0) return []
    const ids = [...new Set(children.map(({ id }) => id))]
    const key = `${name}:${hashOf(...children.map((child) => child.key))}`
    return this.#calling(async () => {
      await this.#load()
      const { data } = await this.#wait({ kind: 'children', name, key, children: ids })
      const failed = new Map((data as EndedChildren).failed.map(([id, ...how]) => [id, how]))
      const results = await this.#suspension.working(() => this.#results(ids.filter((id) => !failed.has(id))))
      return children.map(({ id, topic }): SettledChild => {
        if (results.has(id))
          return { status: 'fulfilled', value: this.#options.parseResult(topic, results.get(id)) }
        const [status = 'gone', error = null] = failed.get(id) ?? []
        return { status: 'rejected', reason: { id, topic, status, error: error as FailedChild['error'] } }
      })
    })
  }

  async #results(ids: readonly JobId[]): Promise<Map<JobId, unknown>> {
    const found = new Map<JobId, unknown>()
    let left = MAX_RESULT_BYTES
    for (let from = 0; from < ids.length; from += RESULT_PAGE) {
      const page = await this.#options.store.durable.results(ids.slice(from, from + RESULT_PAGE), left)
      for (const [id, result] of page.results) found.set(id, result)
      left -= page.bytes
    }
    return found
  }

  /** Resolves with the outcome of a wait, in this run or, if the run is suspended, in a later one. */
  async #wait(wait: SuspendedWait, opening?: readonly NewOutcome[]): Promise<Outcome> {
    const { kind, name, key } = wait
    const signal = kind === 'signal' ? { signal: name } : {}
    const isNew = this.#replay.recorded.answerTo({ key, ...signal }) === undefined
    return isNew && this.#ending !== 'no' ? this.#hang(key) : this.#await(wait, opening)
  }

  async #await(wait: SuspendedWait, opening?: readonly NewOutcome[]): Promise<Outcome> {
    const { key } = wait
    const { aborted, signal } = this.#run
    if (aborted && aborted !== 'shutdown') throw signal.reason
    const asked = this.#replay.ask(key, wait.kind === 'signal' ? { signal: wait.name } : {})
    if (this.#replay.isAnswered(key)) return asked
    this.#goLive()
    // The first end of a wait stands.
    const first = this.#replay.recorded.get(`wait:${key}`)
    this.#suspension.add({ ...wait, until: first ? new Date(String(first.data)) : wait.until }, opening)
    return asked
  }

  // --- changes

  /** Decided once: all calls of all runs get the same answer. */
  since(change: string): Promise<boolean> {
    const known = this.#changes.get(change)
    if (known) return known
    const decision = this.#decide(change)
    this.#changes.set(change, decision)
    // A call that could not record its decision may be repeated.
    decision.catch(() => this.#changes.delete(change))
    return decision
  }

  async #decide(change: string): Promise<boolean> {
    assertNotNested('since')
    assertCallName(change, 'since')
    const key = `since:${change}`
    return this.#calling(async () => {
      await this.#load()
      const { recorded } = this.#replay
      const decided = recorded.get(key)
      // Not in recorded order: it may be decided long after what follows it in the handler.
      if (decided) return decided.data === true
      if (this.#stopsAt(key)) return this.#hang(key)
      // The signal that resumed the job, and that the handler has not come to.
      const isBeforeSignal = this.#isReplaying && recorded.hasSignals
      const isNew = this.#replay.isCaughtUp && !isBeforeSignal
      if (isNew) this.#goLive()
      const outcome = { key, kind: 'since' as const, data: String(isNew) }
      await this.#suspension.working(() => this.#replay.send([outcome]))
      return isNew
    })
  }

  // --- undo

  async undo(name: string, work: Work, options: StepOptions): Promise<void> {
    assertNotNested('undo')
    assertCallName(name, 'undo')
    assertStepOptions(options)
    if (typeof work !== 'function') {
      throw new OncueError('INVALID_INPUT', `ctx.undo(${JSON.stringify(name)}) needs a function that undoes`)
    }
    const key = this.#claim(`undo:${name}`, 'undo', name)
    await this.#calling(async () => {
      await this.#loadFor(key)
      this.#undos.set(name, { work, options })
      if (this.#replay.recorded.has(key)) await this.#replay.ask(key)
      else if (this.#stopsAt(key)) await this.#hang(key)
      else {
        this.#goLive()
        await this.#suspension.working(() => this.#replay.record({ key, kind: 'undo' }))
      }
    })
  }

  /**
   * Runs what was registered and has not run, the last one first. The handler is over, or dropped: `thrown` is what it threw. One
   * that fails ends it: those before it may rely on what it undoes.
   */
  async undoAll(thrown: unknown): Promise<UndoEnd> {
    try {
      await this.#load()
    } catch (error) {
      return { how: 'not_undone', error, isFinal: false }
    }
    this.#ending = 'undoes'
    this.#suspension.close()
    this.#suspension = new Suspension(this.#run, this.#replay, this.#options.runtime)
    this.#replay.skipAll()
    const open = this.#replay.recorded.openUndos
    const missing = open.filter((name) => !this.#undos.has(name))
    if (missing.length > 0 && !this.#run.aborted) return undoMissing(missing, thrown)
    this.#goLive()
    // Undos tell by `onUndone`.
    const { step: undo } = createSteps(this.#undoRecord(), this.#options.runtime, async () => {})
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      const { work, options } = this.#undos.get(name) as RegisteredUndo
      try {
        this.#run.signal.throwIfAborted()
        await undo(name, async (signal) => void (await work(signal)), withUndoRetry(options))
      } catch (error) {
        const { aborted, signal } = this.#run
        // A run that was asked to stop leaves the rest to the next one.
        if (aborted) return { how: 'not_undone', error: signal.reason, isFinal: false }
        const isAway = isOncueError(error) && error.retryable && !isOncueError(error, 'STEP_TIMEOUT')
        return isAway ? { how: 'not_undone', error, isFinal: false } : undoFailed(name, open, error)
      }
    }
    return { how: 'undone' }
  }

  /** An undo is a step without a result, whose failure is not recorded. */
  #undoRecord(): StepRecord {
    const run = this.#run
    const keyOf = (name: string) => `${UNDO.key}:${name}`
    const isEnding = () => this.isEnding
    return {
      begin: (name) => this.#suspension.calling(() => this.#begin(UNDO, name)),
      finish: async (name) => {
        try {
          this.#assertMine()
          await this.#replay.record({ key: keyOf(name), kind: 'undone' })
          this.#options.onUndone(name)
        } finally {
          this.#endStep(keyOf(name))
        }
      },
      fail: async (name) => this.#endStep(keyOf(name)),
      pause: (name, attempt, delayMs) => this.#pause(UNDO, name, attempt, delayMs),
      unstored: (name) => this.#endStep(keyOf(name)),
      signal: run.signal,
      get isEnding() {
        return isEnding()
      },
    }
  }

  /** Whether a call is new, and its job is being undone. */
  #stopsAt(key: string): boolean {
    return this.#ending !== 'no' && !this.#replay.recorded.has(key)
  }

  /** The handler comes no further. Like a wait, so that the run notices when it does nothing else. */
  #hang(key: string): Promise<never> {
    if (this.#ending === 'replays') this.#suspension.add({ kind: 'timer', name: key, key })
    return new Promise(() => {})
  }

  // --- calls

  #claim(key: string, call: string, name: string): string {
    if (this.#used.has(key)) {
      const message = `a ${call} with the name ${JSON.stringify(name)} was used before in this run`
      throw new OncueError('DUPLICATE_STEP', message)
    }
    this.#used.add(key)
    return key
  }

  #goLive(): void {
    this.#isReplaying = false
  }

  async #calling<T>(call: () => Promise<T>): Promise<T> {
    this.#assertMine()
    // Of a handler that was dropped.
    if (this.#ending === 'undoes') return new Promise(() => {})
    return this.#suspension.calling(call)
  }

  #load(): Promise<void> {
    return this.#suspension.working(() => this.#replay.load())
  }

  /** A call that could not find out what is recorded may be repeated. */
  async #loadFor(key: string): Promise<void> {
    try {
      await this.#load()
    } catch (error) {
      this.#used.delete(key)
      throw error
    }
  }

  async #sleepHere(ms: number): Promise<void> {
    const { signal } = this.#run
    await this.#options.runtime.sleep(ms, { signal })
    // It ended early, and must not be recorded as over.
    signal.throwIfAborted()
  }

  #assertMine(): void {
    if (!this.#isOver && this.#run.aborted !== 'lost') return
    const { id, run } = this.#run.job
    throw new OncueError('STALE_RUN', `run ${run} of job ${id} has ended; its context can no longer write`)
  }

  /** A call of the context that is no wait has begun or ended. */
  stir(): void {
    this.#suspension.noteCall()
    this.#replay.stir()
    this.#suspension.stir()
  }

  /** The worker stops: the run is suspended as soon as it only waits. */
  hurry(): void {
    this.#suspension.hurry()
  }

  /** The run is asked to stop: its waits end. */
  abort(error: OncueError): void {
    this.#suspension.rejectAll(error)
    this.#replay.tellFailures()
  }

  /** The run has ended: releases timers and whatever is open. */
  close(): void {
    this.#isOver = true
    this.#replay.close()
    this.#suspension.close()
  }
}

/** What a job that is being undone waits for is that its handler comes no further. */
function stopping(run: DurableRun): WaitingRun {
  return {
    get inFlight() {
      return run.inFlight
    },
    get isIsolated() {
      return run.isIsolated
    },
    suspend: () => run.stop(),
  }
}

function notCommitted(name: string): OncueError {
  const message = `the transaction of the commit ${JSON.stringify(name)} ended, and was not committed`
  return new OncueError('UNSUPPORTED_TRANSACTION', message, {
    hint: 'Neither commit nor roll back within the work of ctx.commit: throw to roll back.',
  })
}
