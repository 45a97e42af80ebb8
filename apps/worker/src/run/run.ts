import {
  type JobContext,
  type JobError,
  LIMITS,
  OncueError,
  type RetryPolicy,
  type RunningJob,
  type Worker,
} from '@oncue/core'
import { asSignal, parsePayload } from '@oncue/core/internal'
import type { ClaimedJob, Settlement, Store, SuspendedWait } from '@oncue/db'
import { type Runtime, type Timer, withTimeout } from '@oncue/runtime'
import type { Isolated, Isolates } from '../isolate/isolates.ts'
import { fieldsOf } from '../observability/report.ts'
import { type AbortReason, toAbortError } from './abort.ts'
import { RunContext, type RunView, type Surroundings } from './context.ts'
import type { Deferred } from './deferred.ts'
import { comesNoFurther, isUndoing } from './durable/undo.ts'
import { type End, settlementOf } from './outcome.ts'
import type { Timed, Timeouts } from './timeouts.ts'

/** One job from its claim to its outcome. */
export interface Run {
  readonly job: ClaimedJob
  /** Its handler ends the job in a transaction of its own: that the run is lost may only mean that it has. */
  readonly isCompleting: boolean
  /**
   * Its handler, in another process, may have ended the job in a transaction of its own, and told so: until that has been read.
   * Undefined for any other.
   */
  heard(): Promise<void> | undefined
  /** Aborts ctx.signal. The first reason counts, except that `lost` overrides any other. */
  abort(reason: AbortReason): void
  /** For tests: ends as if its process had died. Its handler's frame is dropped, and nothing is settled. */
  die(): void
  /** Resolves once, never rejects. Made on first use: a worker listens by `OnEnd`. */
  readonly ended: Promise<Ending>
}

/** Called once, when a run ends. */
export type OnEnd = (ending: Ending) => void

export interface Ending {
  /** Null: the run lost its lease, and nothing may be written. */
  readonly settlement: Settlement | null
  /** The handler ignored its signal for `abandonMs`. It may still be running, but its run is over. */
  readonly abandoned: boolean
  /** The settlement is in the store: the handler wrote it in a transaction of its own. */
  readonly isWritten?: boolean | undefined
}

/** What all runs of an executor share. */
export interface RunSurroundings extends Surroundings {
  readonly store: Store
  /** The handler within the middleware. */
  readonly call: (job: RunningJob, ctx: JobContext, handler: () => unknown) => Promise<unknown>
  readonly retry: RetryPolicy | null
  readonly abandonMs: number
  readonly timeouts: Timeouts
  /** There is middleware, which must learn that a run is suspended. */
  readonly hasMiddleware: boolean
  /** Undefined: every topic runs in this process. */
  readonly isolates: Isolates | undefined
  readonly runtime: Runtime
}

/** Starts when it is made. */
export class JobRun implements Run, RunView, Timed {
  readonly job: ClaimedJob
  readonly #onEnd: OnEnd | undefined
  readonly #worker: Worker
  readonly #around: RunSurroundings
  readonly #context: RunContext
  readonly #startedAt: number
  #timeout: Timer | undefined
  #ending: Ending | undefined
  #ended: Promise<Ending> | undefined
  #resolve: OnEnd | undefined
  #isolated: Isolated | undefined
  /** Ends the wait for the handler, and then the wait for its events. */
  #patience: Timer | undefined
  #controller: AbortController | undefined
  #aborted: AbortReason | null = null
  #unstored: OncueError | null = null
  /** The handler ended or was abandoned. */
  #isOver = false
  /** While it waits, after its end, for its events to be written. */
  #goOn: (() => void) | undefined
  #isHurried = false
  #isUndoing = false
  /** How the handler ended, while what it began is finished. */
  #left: End | undefined
  /** Ends the wait of middleware for a handler that is suspended. */
  #drop: ((error: unknown) => void) | undefined

  constructor(job: ClaimedJob, worker: Worker, around: RunSurroundings, startedAt: number, onEnd?: OnEnd) {
    this.job = job
    this.#worker = worker
    this.#around = around
    this.#onEnd = onEnd
    this.#startedAt = startedAt
    around.timeouts.watch(this)

    let payload = job.payload
    let unfit: { readonly error: unknown } | undefined
    try {
      payload = parsePayload(worker.definition.input, payload, job.topic)
    } catch (error) {
      unfit = { error }
    }
    const running: RunningJob = { ...job, payload }
    const context = new RunContext(running, this, around, worker)
    this.#context = context
    const handle = () => {
      context.begin()
      // Thrown here so that middleware sees it like any other failure.
      if (unfit) throw unfit.error
      const value = this.#start(running, context)
      if (!around.hasMiddleware) return value
      return new Promise((resolve, reject) => {
        this.#drop = reject
        Promise.resolve(value).then(resolve, reject)
      })
    }
    around.call(running, context, handle).then(
      (value) => this.#leave({ how: 'returned', value }),
      (error) => this.#leave({ how: unfit && unfit.error === error ? 'unfit' : 'threw', error }),
    )
  }

  #start(running: RunningJob, context: RunContext): unknown {
    const { handler, definition } = this.#worker
    const { isolates } = this.#around
    if (!definition.isolate || !isolates) return handler(running, context)
    this.#isolated = isolates.start(this.job, context, definition.isolate)
    return this.#isolated.result
  }

  startTimeout(now: number): void {
    if (this.#isOver) return
    const left = this.#startedAt + this.job.timeoutMs - now
    this.#timeout = this.#around.runtime.after(left, () => this.abort('timeout'))
  }

  get ended(): Promise<Ending> {
    this.#ended ??= new Promise((resolve) => {
      if (this.#ending) resolve(this.#ending)
      else this.#resolve = resolve
    })
    return this.#ended
  }

  /** Created on first use: most handlers do not use it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(toAbortError(this.#aborted, this.job))
    }
    return this.#controller.signal
  }

  get isOver(): boolean {
    return this.#isOver || this.#aborted === 'lost'
  }

  get aborted(): AbortReason | null {
    return this.#aborted
  }

  get isIsolated(): boolean {
    return this.#isolated !== undefined
  }

  get isCompleting(): boolean {
    return this.#context.isCompleting
  }

  abort(reason: AbortReason): void {
    if (reason === 'lost' && this.isCompleting) return
    if (reason === 'shutdown') this.#hurry()
    if (this.#isOver && reason !== 'lost') return
    const isFirst = this.#aborted === null
    if (isFirst || reason === 'lost') this.#aborted = reason
    if (!isFirst || this.#isOver) {
      if (reason === 'lost') this.#context.abortWaits(reason)
      return
    }
    const { runtime, abandonMs } = this.#around
    this.#patience = runtime.after(abandonMs, () => this.#abandon())
    this.#context.abortWaits(reason)
    // Last: listeners run within this call and may end the run.
    this.#controller?.abort(toAbortError(reason, this.job))
  }

  lose(): void {
    const heard = this.heard()
    if (heard) void heard.then(() => this.abort('lost'))
    else this.abort('lost')
  }

  heard(): Promise<void> | undefined {
    // An asynchronous one waits until the worker knows.
    if (!this.#isolated || this.#context.transactionMode !== 'sync' || this.isCompleting) return undefined
    const { runtime } = this.#around
    // Two turns of the event loop: what was told before this call is read after the first has begun.
    return runtime.sleep(0).then(() => runtime.sleep(0))
  }

  die(): void {
    this.#aborted = 'lost'
    this.#end({ how: 'ignored', note: '' })
  }

  refuseRepeat(error: OncueError): void {
    this.#unstored ??= error
  }

  /** The handler's frame is dropped: a later run repeats it up to here. */
  suspend(waits: readonly SuspendedWait[], progressed: boolean, error: JobError | undefined): void {
    if (this.#isOver) return
    const suspended = new OncueError('JOB_SUSPENDED', 'the run was suspended until its wait is over')
    this.#end({ how: 'suspended', waits, progressed, error })
    // What it holds is released first, and ends it.
    if (!this.#context.held) this.#isolated?.kill()
    // Middleware ends its spans; what it returns is ignored, because the run has ended.
    this.#drop?.(asSignal(suspended, { kind: 'suspend' }))
    this.#controller?.abort(suspended)
  }

  stop(): void {
    if (this.#isOver || this.#isUndoing) return
    this.#leave({ how: 'returned', value: undefined })
    this.#drop?.(comesNoFurther())
  }

  /** The handler has ended, or is dropped. Of a job that is being undone, the undos are left. */
  #leave(end: End): void {
    if (!isUndoing(this.job)) this.#finish(end)
    else if (!this.#isOver && !this.#isUndoing) {
      this.#isUndoing = true
      const thrown = 'error' in end ? end.error : undefined
      void this.#context.durable.undos.runAll(thrown).then((undone) => this.#end(undone))
    }
  }

  #finish(end: End): void {
    if (this.#isOver) return
    const underWay = this.#context.leave(end.how === 'threw')
    if (underWay) {
      this.#left = end
      void underWay.then(() => this.#end(end))
    } else this.#end(end)
  }

  #abandon(): void {
    const { log, abandonMs } = this.#around
    const what = this.#isolated ? 'killed' : 'abandoned'
    log.warn({ ...fieldsOf(this.job), reason: this.#aborted }, `handler ignored ctx.signal and was ${what}`)
    this.#isolated?.kill()
    const note = `; its handler ignored ctx.signal for ${abandonMs} ms and was ${what}`
    this.#end(this.#left ?? { how: 'ignored', note })
  }

  #end(end: End): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#context.closeWaits()
    const { runtime } = this.#around
    if (this.#timeout) runtime.cancel(this.#timeout)
    if (this.#patience) runtime.cancel(this.#patience)
    if (this.#context.held) void this.#release(this.#context.held).then(() => this.#writeEvents(end))
    else {
      // It had the undos, and its handler may still be waiting.
      if (isUndoing(this.job)) this.#isolated?.kill()
      this.#writeEvents(end)
    }
  }

  /** After this turn, in which the run may still have to abort its signal. */
  async #release(held: Deferred): Promise<void> {
    const { runtime, abandonMs, log } = this.#around
    await null
    const released = held.run((err) =>
      log.error({ ...fieldsOf(this.job), err }, 'a function given to ctx.defer failed'),
    )
    const giveUp = () =>
      log.warn({ ...fieldsOf(this.job), abandonMs }, 'functions given to ctx.defer took too long')
    await withTimeout(released, abandonMs, giveUp, runtime)
  }

  #writeEvents(end: End): void {
    const { runtime } = this.#around
    const unwritten = this.#context.unwritten
    if (!unwritten) {
      this.#settle(end)
      return
    }
    const goOn = () => {
      if (this.#goOn === undefined) return
      this.#goOn = undefined
      runtime.cancel(this.#patience)
      this.#settle(end)
    }
    this.#goOn = goOn
    // A failed write was logged; it does not keep the run from ending.
    unwritten.then(goOn, goOn)
    if (this.#isHurried) this.#hurry()
  }

  /** The worker stops: limits the wait for a database that takes no events. */
  #hurry(): void {
    this.#isHurried = true
    if (!this.#goOn) return
    const { runtime, abandonMs } = this.#around
    runtime.cancel(this.#patience)
    this.#patience = runtime.after(abandonMs, this.#goOn)
  }

  #settle(end: End): void {
    const mayBeCompleted = this.isCompleting || this.#hasDiedUnheard(end)
    if (mayBeCompleted && this.#aborted !== 'lost') void this.#settleCompleting(end)
    else this.#decide(end)
  }

  /** Its process has died, perhaps before it could tell that it has ended the job. */
  #hasDiedUnheard({ how }: End): boolean {
    if (this.#context.transactionMode === undefined || this.#isolated?.isAlive !== false) return false
    return how === 'threw' || how === 'ignored'
  }

  /** The transaction of the handler was committed, or it was not. */
  async #settleCompleting(end: End): Promise<void> {
    const { recorder, log } = this.#around
    let isCompleted: boolean
    try {
      isCompleted = await recorder.hasCompleted(this.job)
    } catch (err) {
      log.error({ ...fieldsOf(this.job), err }, 'could not read the end of a run; it ends with its lease')
      this.#conclude({ settlement: null, abandoned: false })
      return
    }
    if (!isCompleted) {
      this.#decide(end.how === 'returned' ? { how: 'threw', error: rolledBack() } : end)
      return
    }
    if (end.how === 'threw') {
      const message = 'handler threw an error after it had completed its job; it was ignored'
      log.warn({ ...fieldsOf(this.job), err: end.error }, message)
    }
    await this.#writeLate()
    const { id, run } = this.job
    const abandoned = end.how === 'ignored' && !this.#isolated
    this.#conclude({ settlement: { id, run, kind: 'complete' }, abandoned, isWritten: true })
  }

  /** A run that has ended its job can no longer write, but what it told belongs to the story. */
  async #writeLate(): Promise<void> {
    const { store, log } = this.#around
    const events = this.#context.lateEvents.slice(0, LIMITS.events)
    if (events.length === 0) return
    await store.events
      .append(this.job.id, null, events)
      .catch((err) => log.error({ ...fieldsOf(this.job), err }, 'events of a run were lost'))
  }

  #decide(end: End): void {
    const { definition } = this.#worker
    const { retry } = this.#around
    const settlement = settlementOf(end, {
      job: this.job,
      definition,
      aborted: this.#aborted,
      unstored: this.#unstored,
      retry,
    })
    if (!settlement) this.#around.log.warn(fieldsOf(this.job), 'run lost its lease; its result was discarded')
    this.#conclude({ settlement, abandoned: end.how === 'ignored' && !this.#isolated })
  }

  #conclude(ending: Ending): void {
    this.#ending = ending
    this.#resolve?.(ending)
    this.#onEnd?.(ending)
  }
}

function rolledBack(): OncueError {
  const message = 'the handler returned, but the transaction in which it completed its job was not committed'
  return new OncueError('COMPLETE_ROLLED_BACK', message)
}
