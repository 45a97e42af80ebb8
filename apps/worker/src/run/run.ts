import type { JobContext, OncueError, RetryPolicy, RunningJob, Worker } from '@oncue/core'
import { parsePayload } from '@oncue/core/internal'
import type { ClaimedJob, Settlement } from '@oncue/db'
import type { Runtime, Timer } from '@oncue/runtime'
import type { Isolated, Isolates } from '../isolate/isolates.ts'
import { fieldsOf } from '../observability/report.ts'
import { type AbortReason, toAbortError } from './abort.ts'
import { RunContext, type RunView, type Surroundings } from './context.ts'
import { type End, settlementOf } from './outcome.ts'

/** One job from its claim to its outcome. */
export interface Run {
  readonly job: ClaimedJob
  /** Aborts ctx.signal. The first reason counts, except that `lost` overrides any other. */
  abort(reason: AbortReason): void
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
}

/** What all runs of an executor share. */
export interface RunSurroundings extends Surroundings {
  /** The handler within the middleware. */
  readonly call: (job: RunningJob, ctx: JobContext, handler: () => unknown) => Promise<unknown>
  readonly retry: RetryPolicy | null
  readonly abandonMs: number
  /** Undefined: every topic runs in this process. */
  readonly isolates: Isolates | undefined
  readonly runtime: Runtime
}

/** Starts when it is made. */
export class JobRun implements Run, RunView {
  readonly job: ClaimedJob
  readonly #onEnd: OnEnd | undefined
  readonly #worker: Worker
  readonly #around: RunSurroundings
  readonly #context: RunContext
  readonly #timeout: Timer
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

  constructor(job: ClaimedJob, worker: Worker, around: RunSurroundings, onEnd?: OnEnd) {
    this.job = job
    this.#worker = worker
    this.#around = around
    this.#onEnd = onEnd
    this.#timeout = around.runtime.after(job.timeoutMs, () => this.abort('timeout'))

    let payload = job.payload
    let unfit: { readonly error: unknown } | undefined
    try {
      payload = parsePayload(worker.definition.input, payload, job.topic)
    } catch (error) {
      unfit = { error }
    }
    const running: RunningJob = { ...job, payload }
    const context = new RunContext(running, this, around)
    this.#context = context
    const handle = () => {
      // Thrown here so that middleware sees it like any other failure.
      if (unfit) throw unfit.error
      const { isolate } = worker.definition
      if (!isolate || !around.isolates) return worker.handler(running, context)
      this.#isolated = around.isolates.start(job, context, isolate)
      return this.#isolated.result
    }
    around.call(running, context, handle).then(
      (value) => this.#end({ how: 'returned', value }),
      (error) => this.#end({ how: unfit && unfit.error === error ? 'unfit' : 'threw', error }),
    )
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

  abort(reason: AbortReason): void {
    if (reason === 'shutdown') this.#hurry()
    if (this.#isOver && reason !== 'lost') return
    const isFirst = this.#aborted === null
    if (isFirst || reason === 'lost') this.#aborted = reason
    if (!isFirst || this.#isOver) return
    const { runtime, abandonMs } = this.#around
    this.#patience = runtime.after(abandonMs, () => this.#abandon())
    // Last: listeners run within this call and may end the run.
    this.#controller?.abort(toAbortError(reason, this.job))
  }

  lose(): void {
    this.abort('lost')
  }

  refuseRepeat(error: OncueError): void {
    this.#unstored ??= error
  }

  #abandon(): void {
    const { log, abandonMs } = this.#around
    const what = this.#isolated ? 'killed' : 'abandoned'
    log.warn({ ...fieldsOf(this.job), reason: this.#aborted }, `handler ignored ctx.signal and was ${what}`)
    this.#isolated?.kill()
    this.#end({
      how: 'ignored',
      note: `; its handler ignored ctx.signal for ${abandonMs} ms and was ${what}`,
    })
  }

  #end(end: End): void {
    if (this.#isOver) return
    this.#isOver = true
    const { runtime } = this.#around
    runtime.cancel(this.#timeout)
    runtime.cancel(this.#patience)
    const events = this.#context.unwritten
    if (!events) {
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
    events.written().then(goOn, goOn)
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
    this.#ending = { settlement, abandoned: end.how === 'ignored' && !this.#isolated }
    this.#resolve?.(this.#ending)
    this.#onEnd?.(this.#ending)
  }
}
