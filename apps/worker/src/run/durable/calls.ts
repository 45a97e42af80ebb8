import { OncueError } from '@oncue/core'
import type { ClaimedJob, NewOutcome, Outcome, Store, SuspendedWait } from '@oncue/db'
import type { Runtime } from '@oncue/runtime'
import type { AbortReason } from '../abort.ts'
import type { OutcomeRecorder } from '../outcome-recorder.ts'
import { Replay } from './replay.ts'
import { type NewWait, Suspension, type WaitingRun } from './suspension.ts'
import { isUndoing } from './undo.ts'

/** Watches a run that only repeats what is recorded. */
export interface DryRun {
  cameTo(key: string): void
  /** A call that is not recorded: the run comes no further there. */
  stoppedAt(key: string): void
  /** The handler has come to everything that is recorded, and to all that its job waits for. */
  readonly isCaughtUp: boolean
}

/** A run as its waits see it. */
export interface DurableRun extends WaitingRun {
  readonly job: ClaimedJob
  readonly signal: AbortSignal
  readonly aborted: AbortReason | null
  readonly dryRun?: DryRun | undefined
  lose(): void
  /** The job is being undone, and the handler has repeated what was recorded: it is dropped, and its undos run. */
  stop(): void
  refuseRepeat(error: OncueError): void
}

interface CallsOptions {
  readonly store: Pick<Store, 'durable'>
  readonly recorder: OutcomeRecorder
  readonly runtime: Runtime
}

type HeldBy = { readonly call: 'step' | 'undo' | 'spawn' | 'enqueue'; readonly name: string }

/** What the calls of a run share: their names, what is recorded of them, and whether they may begin something new. */
export class Calls {
  readonly run: DurableRun
  readonly replay: Replay
  readonly runtime: Runtime
  #suspension: Suspension
  readonly #used = new Set<string>()
  /**
   * Of a job that is being undone: `replays` until the handler comes to something that is not recorded, then `undoes`. In
   * both, nothing new begins: such a call never returns.
   */
  #ending: 'no' | 'replays' | 'undoes' = 'no'
  #isReplaying: boolean
  /** Calls that write and are not done. */
  readonly #held = new Set<HeldBy>()
  /** The handler has ended, and nothing begins any more. */
  #hasLeft = false
  #leaving: { readonly hasFailed: boolean; readonly resolve: () => void } | undefined
  #isOver = false

  constructor(run: DurableRun, { store, recorder, runtime }: CallsOptions) {
    this.run = run
    this.runtime = runtime
    if (isUndoing(run.job)) this.#ending = 'replays'
    this.#isReplaying = run.job.waits !== null || isUndoing(run.job)
    this.replay = new Replay({
      job: run.job,
      store,
      recorder,
      runtime,
      onAsked: run.dryRun?.cameTo,
      onAnswered: (key) => this.#suspension.forget(key),
      onTold: () => this.#suspension.stir(),
      isWorking: (calls) => this.#suspension.isWorking(calls),
      lose: () => run.lose(),
    })
    this.#suspension = new Suspension(isUndoing(run.job) ? stopping(run) : run, this.replay, runtime)
  }

  /** Another one after the handler was dropped. */
  get suspension(): Suspension {
    return this.#suspension
  }

  /** Aborted or over: the handler may no longer listen. */
  get isEnding(): boolean {
    return this.hasLeft || this.run.aborted !== null
  }

  /** The handler has ended: what fails now is not survived. */
  get hasLeft(): boolean {
    return this.#hasLeft || this.#isOver
  }

  /** A resume that has only repeated what earlier runs did: its logs were written by them. */
  get isReplaying(): boolean {
    return this.#isReplaying
  }

  /** The job is being undone. */
  get isUndoing(): boolean {
    return this.#ending !== 'no'
  }

  // --- a call

  /** A name belongs to one call of a run. */
  claim(key: string, call: string, name: string): string {
    if (this.#used.has(key)) {
      const message = `a ${call} with the name ${JSON.stringify(name)} was used before in this run`
      throw new OncueError('DUPLICATE_STEP', message)
    }
    this.#used.add(key)
    return key
  }

  async calling<T>(call: () => Promise<T>): Promise<T> {
    this.assertOpen()
    // Of a handler that was dropped.
    if (this.#ending === 'undoes') return new Promise(() => {})
    return this.#suspension.calling(call)
  }

  load(): Promise<void> {
    return this.#suspension.working(() => this.replay.load())
  }

  /** A call that could not find out what is recorded may be repeated. */
  async loadFor(key: string): Promise<void> {
    try {
      await this.load()
    } catch (error) {
      this.#used.delete(key)
      throw error
    }
  }

  /** The handler has come to something new. */
  goLive(): void {
    this.#isReplaying = false
  }

  async sleepHere(ms: number): Promise<void> {
    const { signal } = this.run
    await this.runtime.sleep(ms, { signal })
    // It ended early, and must not be recorded as over.
    signal.throwIfAborted()
  }

  /** What has begun may still be written. */
  assertMine(): void {
    if (this.#isOver || this.run.aborted === 'lost') throw this.#ended()
  }

  /** Something may begin. */
  assertOpen(): void {
    if (this.#hasLeft) throw this.#ended()
    this.assertMine()
  }

  #ended(): OncueError {
    const { id, run } = this.run.job
    const message = `run ${run} of job ${id} has ended; its context can no longer write`
    return new OncueError('STALE_RUN', message)
  }

  // --- leaving

  /** Until what it returns is called, the run does not end, and its job cannot be completed by the handler. */
  hold(call: HeldBy['call'], name: string): () => void {
    const held = { call, name }
    this.#held.add(held)
    return () => {
      this.#held.delete(held)
      if (this.#leaving && !this.#isHeld(this.#leaving.hasFailed)) this.#leaving.resolve()
    }
  }

  #isHeld(hasFailed: boolean): boolean {
    return [...this.#held].some(({ call }) => hasFailed || call !== 'step')
  }

  /** What holds the run. */
  get held(): string[] {
    return [...this.#held].map(({ call, name }) => `${call} ${JSON.stringify(name)}`)
  }

  /**
   * The handler has ended. What it began and did not wait for is recorded first. If it has failed, so are steps: another run
   * would do their work beside them. Undefined: there is nothing.
   */
  leave(hasFailed: boolean): Promise<void> | undefined {
    this.#hasLeft = true
    this.#suspension.close()
    this.replay.leave()
    if (!this.#isHeld(hasFailed)) return undefined
    return new Promise((resolve) => {
      this.#leaving = { hasFailed, resolve }
    })
  }

  // --- waiting

  /** Resolves with the outcome of a wait, in this run or, if the run is suspended, in a later one. */
  async wait(wait: SuspendedWait, opening?: readonly NewOutcome[]): Promise<Outcome> {
    const { kind, name, key } = wait
    const signal = kind === 'signal' ? { signal: name } : {}
    const isNew = this.replay.recorded.answerTo({ key, ...signal }) === undefined
    return isNew && this.#ending !== 'no' ? this.hang(key) : this.await(wait, opening)
  }

  /** The same in a job that is being undone, too. */
  async await(wait: NewWait, opening?: readonly NewOutcome[]): Promise<Outcome> {
    const { key } = wait
    const { aborted, signal } = this.run
    if (aborted && aborted !== 'shutdown') throw signal.reason
    const asked = this.replay.ask(key, wait.kind === 'signal' ? { signal: wait.name } : {})
    if (this.replay.isAnswered(key)) return asked
    this.goLive()
    // The first end of a wait stands.
    const first = this.replay.recorded.get(`wait:${key}`)
    this.#suspension.add({ ...wait, until: first ? new Date(String(first.data)) : wait.until }, opening)
    return asked
  }

  // --- undoing

  /** Whether a call is new, and its job is being undone. */
  stopsAt(key: string): boolean {
    return this.#ending !== 'no' && !this.replay.recorded.has(key)
  }

  /** The handler comes no further. Like a wait, so that the run notices when it does nothing else. */
  hang(key: string): Promise<never> {
    this.run.dryRun?.stoppedAt(key)
    if (this.#ending === 'replays') this.#suspension.add({ kind: 'timer', name: key, key })
    return new Promise(() => {})
  }

  /** The handler is over, or dropped: from now on only undos run. */
  dropHandler(): void {
    this.#ending = 'undoes'
    this.#suspension.close()
    this.#suspension = new Suspension(this.run, this.replay, this.runtime)
    this.replay.skipAll()
  }

  /** The run has ended: releases timers and whatever is open. */
  close(): void {
    this.#isOver = true
    this.replay.close()
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
