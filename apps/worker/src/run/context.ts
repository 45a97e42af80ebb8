import {
  type JobContext,
  type JobDefinition,
  type JobError,
  type JobId,
  type JobLog,
  LIMITS,
  OncueError,
  prepareJob,
  type RunningJob,
  type SpawnOptions,
  type Transactions,
  type Worker,
} from '@oncue/core'
import { encodeJson, encodeProgress, parseResult, type Registry, utf8Length } from '@oncue/core/internal'
import { type ClaimedJob, encodeEvents, type NewEvent, type Store, type SuspendedWait } from '@oncue/db'
import type { Logger, Runtime } from '@oncue/runtime'
import { currentTraceparent } from '../observability/tracing.ts'
import type { AbortReason } from './abort.ts'
import { toAbortError } from './abort.ts'
import { createAsk } from './ask.ts'
import { commit, completionOf } from './commit.ts'
import { Deferred } from './deferred.ts'
import type { DryRun } from './durable/calls.ts'
import { Durable } from './durable/durable.ts'
import { hashOf, SpawnKeys, spawnedChildren, spawnWith, valuesOf } from './durable/spawn-calls.ts'
import { isUndoing } from './durable/undo.ts'
import type { JobEvents, RunEvents } from './job-events.ts'
import { createJobLog } from './job-log.ts'
import type { OutcomeRecorder } from './outcome-recorder.ts'
import { ownTransactions } from './own-transactions.ts'
import { assertNotInCommit, createSteps } from './steps.ts'
import { shortError } from './told-steps.ts'
import { unawaited, unawaitedAtEnd } from './unawaited.ts'
import { inPages, type WaitedForPage } from './waited-for.ts'

/** What the contexts of all runs share. */
export interface Surroundings {
  readonly store: Pick<Store, 'dialect' | 'durable' | 'waitedFor'>
  /** Whose runs these are. */
  readonly worker?: string | undefined
  /** Instead of those that workers were defined with: for tests. */
  readonly transactions?: Transactions | undefined
  readonly registry: Registry
  readonly events: JobEvents
  readonly recorder: OutcomeRecorder
  readonly log: Logger
  readonly runtime: Runtime
}

/** A run as its context sees it. */
export interface RunView {
  readonly job: ClaimedJob
  readonly signal: AbortSignal
  /** Ended, abandoned or lost: nothing may be written any more. */
  readonly isOver: boolean
  readonly aborted: AbortReason | null
  readonly isIsolated: boolean
  /** This run only repeats what is recorded. */
  readonly dryRun?: DryRun | undefined
  lose(): void
  /** A step has run and its result cannot be stored: the job must not be retried. */
  refuseRepeat(error: OncueError): void
  suspend(waits: readonly SuspendedWait[], progressed: boolean, error: JobError | undefined): void
  /** The handler is dropped, and the undos of its job run. */
  stop(): void
}

/** Event types that only Oncue writes: a handler must not forge them. */
const OWN_EVENTS = new Set([
  'log',
  'step_finished',
  'step_retried',
  'run_started',
  'run_failed',
  'run_crashed',
  'run_snoozed',
  'run_interrupted',
  'run_suspended',
  'undoing',
  'undone',
  'undo_retried',
  'replaced',
  'requeued',
  'steps_forgotten',
  'cancelled',
  'cancel_requested',
  'progressed',
  'job_created',
  'job_completed',
  'job_failed',
  'job_cancelled',
])

/**
 * The `ctx` of a handler. Each part is created on first use, because most handlers need few of them. Getters instead
 * of methods, because handlers destructure it: `async (job, { log, step }) => …`.
 */
export class RunContext implements JobContext {
  readonly job: RunningJob
  readonly #run: RunView
  readonly #around: Surroundings
  #events: RunEvents | undefined
  #log: JobLog | undefined
  #steps: ReturnType<typeof createSteps> | undefined
  #durable: Durable | undefined
  #deferred: Deferred | undefined
  readonly #definition: JobDefinition
  readonly #transactions: Transactions | undefined
  #isCompleting = false
  #inFlight = 0
  #spawnKeys: SpawnKeys | undefined

  constructor(job: RunningJob, run: RunView, around: Surroundings, { definition, transactions }: Worker) {
    this.job = job
    this.#run = run
    this.#around = around
    this.#definition = definition
    this.#transactions = around.transactions ?? transactions
  }

  get attempt(): number {
    return this.job.retries + this.job.crashes + 1
  }

  get signal(): AbortSignal {
    return this.#run.signal
  }

  get log(): JobLog {
    if (this.#log) return this.#log
    const { id, topic, run } = this.job
    const log = this.#around.log.child({ job: id, topic, run })
    // After the end a timer of the handler may still log: that goes to the worker's log only.
    const keep = (event: NewEvent) => this.#run.isOver || this.#ownEvents.event(event)
    this.#log = createJobLog(log, keep, () => this.#isMuted)
    return this.#log
  }

  get progress(): JobContext['progress'] {
    return (value) => {
      const text = encodeProgress(this.#definition.progress, value, this.job.topic)
      if (this.#run.isOver || this.#isMuted) return
      this.#ownEvents.progress(text)
      if (this.#definition.events === 'all')
        this.#ownEvents.event({ type: 'progressed', data: { value: JSON.parse(text) as unknown } })
    }
  }

  get step(): JobContext['step'] {
    return this.#allSteps.step
  }

  get plan(): JobContext['plan'] {
    return this.#allSteps.plan
  }

  get node(): JobContext['node'] {
    return this.#allSteps.node
  }

  get tool(): JobContext['tool'] {
    return this.#allSteps.tool
  }

  get #allSteps(): ReturnType<typeof createSteps> {
    this.#steps ??= createSteps(this.durable.steps, this.#around.runtime, (...event) => this.tell(...event))
    return this.#steps
  }

  /** The handler is about to be called. */
  begin(): void {
    if (this.#definition.events !== 'all') return
    const { attempt } = this
    this.#ownEvents.event({ type: 'run_started', data: { run: this.job.run, attempt } })
  }

  /** An event of a step that runs, and so is new. Resolves when it is written. */
  tell(type: string, data: object): Promise<void> {
    return this.#keep({ type, data })
  }

  get commit() {
    return (name: string, work: (tx: unknown) => unknown): Promise<unknown> => {
      const { store, worker, runtime } = this.#around
      const { job } = this.#run
      // Not before the call: a handler that destructures its context need not have transactions.
      const committed = async () => {
        const transactions = ownTransactions(this.#transactions, 'commit')
        const { steps: record } = this.durable
        return commit(transactions, name, work, { record, statements: store.durable, job, worker, runtime })
      }
      return unawaitedAtEnd(committed(), this.durable.steps)
    }
  }

  get complete() {
    return (tx: unknown, result?: unknown): Promise<void> => {
      // In a transaction of better-sqlite3 everything has happened, or thrown, before this returns.
      if (this.#transactions?.mode === 'sync') return this.#complete(tx, result)
      return unawaited(this.#completeLater(tx, result))
    }
  }

  async #completeLater(tx: unknown, result: unknown): Promise<void> {
    const writeFirst = async () => {
      await this.#unwrittenBeforeEnd
      this.#assertMine()
    }
    await this.#complete(tx, result, this.#unwrittenBeforeEnd && writeFirst)
  }

  #complete(tx: unknown, value: unknown, before?: () => Promise<void>): Promise<void> {
    const { store, worker } = this.#around
    const { own, completed } = completionOf(tx, value, {
      transactions: this.#transactions,
      definition: this.#definition,
      job: this.#run.job,
      worker,
      assertMay: () => {
        this.#assertMine()
        this.#durable?.assertAllAwaited()
      },
    })
    this.#isCompleting = true
    return store.durable.complete(completed, own, before)
  }

  /** On SQLite they would wait for the transaction that completes the job: they are written after it. */
  get #unwrittenBeforeEnd(): Promise<unknown> | undefined {
    return this.#around.store.dialect === 'postgres' ? this.unwritten : undefined
  }

  /** The handler is about to end its job, in a child process. Not refused: it does not always wait for the answer. */
  async beginComplete(): Promise<void> {
    await this.#unwrittenBeforeEnd
    this.#isCompleting = true
  }

  /** How its handler may end its job itself. */
  get transactionMode(): Transactions['mode'] | undefined {
    return this.#transactions?.mode
  }

  /** The handler has sent the end of its job in a transaction of its own; only the store knows what became of it. */
  get isCompleting(): boolean {
    return this.#isCompleting
  }

  /** Events that were told after the job had ended in a transaction of the handler's. */
  get lateEvents(): readonly NewEvent[] {
    return this.#events?.late ?? []
  }

  get sleep(): JobContext['sleep'] {
    return (name, until) => unawaited(this.durable.waits.sleep(name, until))
  }

  get since(): JobContext['since'] {
    return (change) => unawaited(this.durable.changes.since(change))
  }

  get receive(): JobContext['receive'] {
    // The schema of the signal has made the value; the compiler cannot infer that.
    const receive = (name: string, options?: { readonly timeout?: unknown }) =>
      unawaited(this.durable.waits.receive(name, options))
    return receive as JobContext['receive']
  }

  get ask(): JobContext['ask'] {
    return createAsk((...question) => this.durable.waits.ask(...question), this.job.topic)
  }

  /** What the run remembers and waits for; also for the calls of a child process. */
  get durable(): Durable {
    this.#durable ??= this.#createDurable()
    return this.#durable
  }

  #createDurable(): Durable {
    const run = this.#run
    const inFlight = () => this.#inFlight
    const view = {
      job: run.job,
      dryRun: run.dryRun,
      get signal() {
        return run.signal
      },
      get aborted() {
        return run.aborted
      },
      get isIsolated() {
        return run.isIsolated
      },
      get inFlight() {
        return inFlight()
      },
      lose: () => run.lose(),
      stop: () => run.stop(),
      refuseRepeat: (error: OncueError) => run.refuseRepeat(error),
      suspend: (...suspension: Parameters<RunView['suspend']>) => run.suspend(...suspension),
    }
    const durable = new Durable(view, {
      ...this.#around,
      definition: this.#definition,
      parseResult: (topic, result) => {
        const definition = this.#around.registry.get(topic)?.definition
        return definition ? parseResult(definition.output, result, topic) : result
      },
      onStep: (name, text) => this.#tellStep(name, text),
      onUndone: (name) => {
        if (!this.#run.isOver) this.#ownEvents.event({ type: 'undone', data: { name } })
      },
      onStepRetried: (...attempt) => this.#tellRetry('step_retried', ...attempt),
      onUndoRetried: (...attempt) => this.#tellRetry('undo_retried', ...attempt),
    })
    if (run.isOver) durable.close()
    else if (run.aborted === 'shutdown') durable.hurry()
    return durable
  }

  #tellStep(name: string, text: string | undefined): void {
    if (this.#run.isOver) return
    const isShown = text !== undefined && utf8Length(text) <= LIMITS.inlineBytes
    const data = { name, ...(isShown && { result: JSON.parse(text) as unknown }) }
    this.#ownEvents.event({ type: 'step_finished', data })
  }

  #tellRetry(type: 'step_retried' | 'undo_retried', name: string, attempt: number, error: unknown): void {
    if (this.#run.isOver) return
    this.#ownEvents.event({ type, data: { name, attempt, error: shortError(error) } })
  }

  get undo(): JobContext['undo'] {
    return (name, work, options = {}) => unawaited(this.durable.undos.register(name, work, options))
  }

  get defer(): JobContext['defer'] {
    return (release) => {
      this.#assertMine()
      this.#deferred ??= new Deferred()
      this.#deferred.add(release)
    }
  }

  /** What the handler holds; undefined for nearly every run. */
  get held(): Deferred | undefined {
    return this.#deferred
  }

  abortWaits(reason: AbortReason): void {
    if (reason === 'shutdown') this.#durable?.hurry()
    else this.#durable?.abort(toAbortError(reason, this.job))
  }

  /** The handler has ended; undefined, as for nearly every run: nothing that must be recorded is under way. */
  leave(hasFailed: boolean): Promise<void> | undefined {
    return this.#durable?.leave(hasFailed)
  }

  closeWaits(): void {
    this.#durable?.close()
  }

  /** A resume that repeats what earlier runs did, and has not come to something new: they have told it. */
  get #isMuted(): boolean {
    const { job } = this.#run
    return (job.waits !== null || isUndoing(job)) && (this.#durable?.isReplaying ?? true)
  }

  /** While it is under way, the run is not suspended. */
  async #inFlightWhile<T>(work: () => Promise<T>): Promise<T> {
    this.#inFlight += 1
    this.#durable?.stir()
    try {
      return await work()
    } finally {
      this.#inFlight -= 1
      this.#durable?.stir()
    }
  }

  get checkpoint(): JobContext['checkpoint'] {
    return (cursor) => unawaited(this.#checkpoint(cursor))
  }

  get emit(): JobContext['emit'] {
    return (type, data) => unawaited(this.#emit(type, data))
  }

  get spawn(): JobContext['spawn'] {
    return (topic, payload, options = {}) =>
      spawnWith(this.#keys, topic, options.name, (key) => this.make(key, topic, payload, options))
  }

  get all(): JobContext['all'] {
    // The schemas of the children have made the values; the compiler cannot infer that.
    const all = (children: unknown) => unawaited(this.#all(children))
    return all as JobContext['all']
  }

  get allSettled(): JobContext['allSettled'] {
    const settled = (children: unknown) => unawaited(this.#allSettled(children))
    return settled as JobContext['allSettled']
  }

  get enqueue(): JobContext['enqueue'] {
    return async (topic, payload, options = {}) =>
      this.make(this.#keys.next('enqueue', topic, options.name), topic, payload, options)
  }

  get waitedFor(): JobContext['waitedFor'] {
    return (topic?: string) => inPages((after) => this.waitedForPage(after), topic)
  }

  /** Also for the calls of a child process. */
  async waitedForPage(after: number): Promise<WaitedForPage> {
    this.#assertMine()
    const { store, registry } = this.#around
    const { jobs, next } = await this.#inFlightWhile(() => store.waitedFor(this.job.id, after))
    const shown = jobs.map(({ id, name, topic, status, result, lastError: error }) => {
      if (status !== 'completed') return { id, name, topic, status, error }
      const definition = registry.get(topic)?.definition
      const parsed = definition ? parseResult(definition.output, result, topic) : result
      return { id, name, topic, status, result: parsed, error: null }
    })
    return { jobs: shown, next }
  }

  async #keep(event: NewEvent): Promise<void> {
    this.#assertMine()
    this.#ownEvents.event(event)
    await this.#ownEvents.written()
  }

  /** Until events and jobs are written; undefined for nearly every run, which then ends without waiting. */
  get unwritten(): Promise<unknown> | undefined {
    const events = this.#events?.isSettled === false ? this.#events.written() : undefined
    const spawning = this.#durable?.children.spawning
    return events || spawning ? Promise.allSettled([events, spawning]) : undefined
  }

  get #ownEvents(): RunEvents {
    this.#events ??= this.#around.events.of(this.#run.job, () => this.#run.lose())
    return this.#events
  }

  async #checkpoint(cursor: unknown): Promise<void> {
    assertNotInCommit('checkpoint')
    this.#assertMine()
    const text = encodeJson(cursor, 'cursor')
    if (!this.#isMuted) await this.#inFlightWhile(() => this.#ownEvents.cursor(text))
  }

  async #emit(type: string, data: unknown): Promise<void> {
    assertNotInCommit('emit')
    this.#assertMine()
    if (OWN_EVENTS.has(type)) {
      throw new OncueError('INVALID_INPUT', `events of type "${type}" are reserved for Oncue`)
    }
    const [event] = encodeEvents([{ type, data }])
    if (this.#isMuted) return
    const kept = { type, data: event?.data == null ? undefined : JSON.parse(event.data) }
    await this.#inFlightWhile(() => this.#keep(kept))
  }

  async #all(children: unknown): Promise<unknown[]> {
    return valuesOf(await this.durable.children.settled(await spawnedChildren(children, 'all')))
  }

  async #allSettled(children: unknown): Promise<unknown[]> {
    return this.durable.children.settled(await spawnedChildren(children, 'allSettled'))
  }

  get #keys(): SpawnKeys {
    this.#spawnKeys ??= new SpawnKeys()
    return this.#spawnKeys
  }

  /** Makes a job, as a child or not, once for all runs. `key` of a call in a child process. */
  async make(key: string, topic: string, payload: unknown, options: SpawnOptions): Promise<JobId> {
    const { name: _, onParentCancel = 'cancel', ...enqueue } = options
    const isChild = key.startsWith('spawn:')
    const trace = enqueue.trace ?? currentTraceparent() ?? this.job.trace ?? undefined
    const given = { ...enqueue, trace, parentId: isChild ? this.job.id : undefined }
    const job = prepareJob(topic, payload, given, this.#around.registry.get(topic)?.definition)
    const child = isChild ? { cancels: onParentCancel === 'cancel' } : undefined
    return this.durable.children.spawn({ key, hash: hashOf(topic, job.payload), job, child })
  }

  #assertMine(): void {
    if (!this.#run.isOver) return
    const { id, run } = this.job
    throw new OncueError('STALE_RUN', `run ${run} of job ${id} has ended; its context can no longer write`)
  }
}
