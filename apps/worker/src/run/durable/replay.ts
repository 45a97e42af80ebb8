import { isOncueError } from '@oncue/core'
import type { ClaimedJob, NewOutcome, Outcome, RunOutcomes, Store } from '@oncue/db'
import type { Runtime, Timer } from '@oncue/runtime'
import type { OutcomeRecorder, RecordingRun } from '../outcome-recorder.ts'
import { keysOf, pauseKey, RecordedOutcomes } from './recorded.ts'

/** How long outcomes are held back for a handler that has not asked for earlier ones. */
const HOLD_MS = 1_000

export interface ReplayOptions {
  readonly job: ClaimedJob
  readonly store: Pick<Store, 'durable'>
  readonly recorder: OutcomeRecorder
  readonly runtime: Runtime
  /** The handler has come to this call. */
  readonly onAsked?: ((key: string) => void) | undefined
  /** A call has its answer, or will get none. */
  readonly onAnswered: (key: string) => void
  /** A failure was told: the handler goes on. */
  readonly onTold: () => void
  /** Whether the handler does something besides this many calls whose outcome is recorded and held back. */
  readonly isWorking: (recorded: number) => boolean
  readonly lose: () => void
}

/** A call whose outcome is not delivered yet. */
type Asked = {
  readonly key: string
  /** Of a receive: also the next signal of this name. */
  readonly signal?: string
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
  /** Of a step or a short sleep that is over: it is busy until its outcome is recorded. */
  readonly isRecorded: boolean
}

type Answer = { readonly asked: Asked; readonly outcome: Outcome }

type Sender = { readonly resolve: () => void; readonly reject: (error: unknown) => void }

/**
 * The order in which a handler learns of outcomes. Every outcome is recorded before it is delivered, and delivered in
 * recorded order, one turn of the event loop apart: so a later run repeats what this one saw. What earlier runs
 * recorded, the handler will ask for; until it has, nothing that was recorded later is delivered.
 */
export class Replay implements RecordingRun {
  readonly #options: ReplayOptions
  readonly #recorded = new RecordedOutcomes()
  readonly #asked = new Map<string, Asked>()
  /** What earlier runs asked for and this one has not, by key, in recorded order. */
  readonly #unasked = new Map<string, number>()
  /** The waits of earlier runs that this one has not come to, by key. */
  readonly #unwaited = new Set<string>()
  /** Who waits for what was taken to be recorded. */
  readonly #sent = new Map<RunOutcomes, Sender[]>()
  #senders: Sender[] = []
  /** Failures that are recorded only if the handler goes on. */
  #failures: NewOutcome[] = []
  /** Failures that the handler does not know yet. */
  readonly #failing: { readonly failure: NewOutcome; readonly resolve: () => void }[] = []
  #pending: NewOutcome[] = []
  #loading: Promise<void> | undefined
  #progressed = false
  #isOver = false
  #delivery: Timer | undefined
  /** While outcomes are held back. */
  #holding: Timer | undefined

  constructor(options: ReplayOptions) {
    this.#options = options
  }

  get recorded(): RecordedOutcomes {
    return this.#recorded
  }

  /** This run has recorded something. */
  get progressed(): boolean {
    return this.#progressed
  }

  /** The handler has survived failures that are not recorded. */
  get hasFailures(): boolean {
    return this.#failures.length > 0
  }

  /** Nothing is on its way to the store or to the handler. */
  get isIdle(): boolean {
    if (this.hasMore || this.#sent.size > 0 || this.#failing.length > 0) return false
    return ![...this.#asked.values()].some((asked) => this.#recorded.answerTo(asked) !== undefined)
  }

  /** Reads what earlier runs recorded. A first run has nothing but signals, which a receive looks for itself. */
  load(): Promise<void> {
    this.#loading ??= this.#options.job.run === 1 ? Promise.resolve() : this.#read()
    return this.#loading
  }

  async #read(): Promise<void> {
    try {
      for (const outcome of await this.#options.store.durable.outcomes(this.#options.job.id)) {
        this.#recorded.add(outcome)
        const { key, kind, seq } = outcome
        if (kind === 'wait') this.#unwaited.add(key.slice('wait:'.length))
        // A signal may come before the handler waits for it, and a refused answer is none; a change is decided, whatever
        // came before it.
        else if (kind !== 'signal' && kind !== 'refused' && kind !== 'since')
          for (const asked of keysOf(outcome)) this.#unasked.set(asked, seq)
      }
    } catch (error) {
      this.#loading = undefined
      throw error
    }
  }

  // --- asking

  ask(key: string, { isRecorded = false, ...more }: Partial<Asked> = {}): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#pass(key)
      this.#asked.set(key, { ...more, key, isRecorded, resolve, reject })
      this.#goOn()
    })
  }

  #pass(key: string): void {
    this.#options.onAsked?.(key)
    this.#unasked.delete(key)
    this.#unwaited.delete(key)
  }

  /** The handler has asked for everything that earlier runs asked for. */
  get isCaughtUp(): boolean {
    return this.#unasked.size + this.#unwaited.size === 0
  }

  isAnswered(key: string): boolean {
    const asked = this.#asked.get(key)
    return asked !== undefined && this.#recorded.answerTo(asked) !== undefined
  }

  /** A finished step does not ask for its pauses again. */
  skipPauses(call: string): void {
    for (const attempt of this.#recorded.pausesOf(call)) this.#pass(pauseKey(call, attempt))
  }

  /** The handler is dropped: it asks for nothing more. */
  skipAll(): void {
    this.#unasked.clear()
    this.#unwaited.clear()
    this.#goOn()
  }

  /** The call gets no answer. */
  reject(key: string, error: unknown): void {
    const asked = this.#asked.get(key)
    if (!asked) return
    this.#asked.delete(key)
    this.#options.onAnswered(key)
    asked.reject(error)
  }

  // --- recording

  /** Records it and waits until it is delivered. */
  async record(outcome: NewOutcome): Promise<void> {
    const asked = this.ask(outcome.key, { isRecorded: true })
    // A refusal reaches the call by its key.
    this.send([outcome]).catch(() => {})
    await asked
  }

  /** Resolves when everything that waits is recorded. */
  send(outcomes: readonly NewOutcome[]): Promise<void> {
    this.#pending.push(...this.#failures, ...outcomes)
    this.#failures = []
    return new Promise((resolve, reject) => {
      this.#senders.push({ resolve, reject })
      this.#options.recorder.add(this)
    })
  }

  /**
   * A failure, to be recorded with the next outcome. The handler may hear of it at once or, by the promise, after
   * everything that is recorded or sent, and so recorded before it.
   */
  fail(failure: NewOutcome): Promise<void> | undefined {
    if (this.isIdle) {
      this.#failures.push(failure)
      return undefined
    }
    return new Promise((resolve) => {
      this.#failing.push({ failure, resolve })
      this.#deliver()
    })
  }

  get hasMore(): boolean {
    return this.#pending.length > 0
  }

  take(maxBytes: number): RunOutcomes {
    let bytes = 0
    let count = 0
    for (const { data } of this.#pending) {
      bytes += data?.length ?? 0
      if (count > 0 && bytes > maxBytes) break
      count += 1
    }
    const { id, run } = this.#options.job
    const taken = { id, run, after: this.#recorded.last, outcomes: this.#pending.splice(0, count) }
    this.#sent.set(taken, this.hasMore ? [] : this.#senders.splice(0))
    return taken
  }

  learn(outcomes: readonly Outcome[]): void {
    for (const outcome of outcomes) if (this.#recorded.add(outcome)) this.#progressed = true
    this.#deliver()
  }

  refuse(outcomes: readonly NewOutcome[], error: unknown): void {
    if (isOncueError(error, 'STALE_RUN')) this.#options.lose()
    for (const { key } of outcomes) this.reject(key, error)
  }

  done(taken: RunOutcomes, error?: unknown): void {
    for (const { resolve, reject } of this.#sent.get(taken) ?? []) {
      if (error === undefined) resolve()
      else reject(error)
    }
    this.#sent.delete(taken)
    this.#deliver()
  }

  // --- delivering

  /** In the next turn: by then the handler has made all the calls of this one. */
  #deliver(): void {
    if (this.#isOver || this.#asked.size + this.#failing.length === 0) return
    this.#delivery ??= this.#options.runtime.after(0, () => {
      this.#delivery = undefined
      this.#deliverNext()
    })
  }

  #deliverNext(): void {
    // Jobs that were made together have one number.
    let next: Answer[] = []
    for (const asked of this.#asked.values()) {
      const outcome = this.#recorded.answerTo(asked)
      const seq = next[0]?.outcome.seq ?? Number.POSITIVE_INFINITY
      if (outcome && outcome.seq < seq) next = [{ asked, outcome }]
      else if (outcome?.seq === seq) next.push({ asked, outcome })
    }
    const [first] = next
    if (!first) {
      if (!this.hasMore && this.#sent.size === 0) this.#tellFailure()
      return
    }
    if (this.#isHeldBack(first.outcome)) return
    for (const answer of next) this.#answer(answer)
    this.#deliver()
  }

  #answer({ asked, outcome }: Answer): void {
    if (outcome.kind === 'signal' && asked.signal !== undefined)
      this.#recorded.takeSignal(asked.signal, outcome)
    this.#asked.delete(asked.key)
    this.#options.onAnswered(asked.key)
    asked.resolve(outcome)
  }

  #tellFailure(): void {
    const first = this.#failing.shift()
    if (!first) return
    this.#failures.push(first.failure)
    first.resolve()
    this.#deliver()
    this.#options.onTold()
  }

  // --- holding back

  /**
   * Whether the handler has yet to ask for something that was recorded before. One turn is not enough for a handler in
   * another process, or for one that does something else between two calls.
   */
  #isHeldBack({ seq }: Outcome): boolean {
    const [first = seq] = this.#unasked.values()
    if (first >= seq) return false
    this.#holding ??= this.#options.runtime.after(HOLD_MS, () => this.#giveUp())
    return true
  }

  /** The handler goes on: it may ask for more soon. */
  stir(): void {
    if (this.#holding) this.#goOn()
  }

  #goOn(): void {
    this.#options.runtime.cancel(this.#holding)
    this.#holding = undefined
    this.#deliver()
  }

  /** The handler no longer asks for it: its code has changed, or it goes another way because a failure is forgotten. */
  #giveUp(): void {
    const recorded = [...this.#asked.values()].filter(
      (asked) => asked.isRecorded && this.#recorded.answerTo(asked) !== undefined,
    )
    if (!this.#options.isWorking(recorded.length)) this.skipAll()
    else this.#goOn()
  }

  // --- ending

  /** The handler has ended: it has survived no failure, and asks for nothing more. */
  leave(): void {
    this.#failures = []
    this.tellFailures()
    this.skipAll()
  }

  /** Failures are told at once, because the run is asked to stop. */
  tellFailures(): void {
    for (const { resolve } of this.#failing.splice(0)) resolve()
  }

  close(): void {
    this.#isOver = true
    this.#options.runtime.cancel(this.#delivery)
    this.#options.runtime.cancel(this.#holding)
    this.#asked.clear()
  }
}
