import {
  type EnqueueOptions,
  type JobContext,
  type JobId,
  type JobLog,
  OncueError,
  prepareJob,
  type RunningJob,
} from '@oncue/core'
import { encodeJson, type Registry } from '@oncue/core/internal'
import { type ClaimedJob, encodeEvents, type JobEvent, type NewEvent, type Store } from '@oncue/db'
import type { Logger } from '@oncue/runtime'
import { currentTraceparent } from '../observability/tracing.ts'
import type { JobEvents, RunEvents } from './job-events.ts'
import { createJobLog } from './job-log.ts'
import { createSteps } from './steps.ts'
import { unawaited } from './unawaited.ts'

/** What the contexts of all runs share. */
export interface Surroundings {
  readonly store: Store
  readonly registry: Registry
  readonly events: JobEvents
  readonly log: Logger
}

/** A run as its context sees it. */
export interface RunView {
  readonly job: ClaimedJob
  readonly signal: AbortSignal
  /** Ended, abandoned or lost: nothing may be written any more. */
  readonly isOver: boolean
  lose(): void
  /** A step has run and its result cannot be stored: the job must not be retried. */
  refuseRepeat(error: OncueError): void
}

/** Event types that only Oncue writes: a handler must not forge them. */
const OWN_EVENTS = new Set([
  'log',
  'step_finished',
  'run_failed',
  'run_crashed',
  'run_snoozed',
  'run_interrupted',
  'replaced',
  'requeued',
  'cancelled',
  'cancel_requested',
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
  #step: JobContext['step'] | undefined

  constructor(job: RunningJob, run: RunView, around: Surroundings) {
    this.job = job
    this.#run = run
    this.#around = around
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
    this.#log = createJobLog(log, (event) => this.#run.isOver || this.#ownEvents.event(event))
    return this.#log
  }

  get progress(): JobContext['progress'] {
    return (value) => {
      const text = encodeJson(value, 'progress')
      if (!this.#run.isOver) this.#ownEvents.progress(text)
    }
  }

  get step(): JobContext['step'] {
    this.#step ??= createSteps(
      this.job,
      (version) => this.events(version),
      (event) => this.keep(event),
      (error) => this.unstored(error),
    )
    const step = this.#step
    return async (name, work) => {
      this.#assertMine()
      return step(name, work)
    }
  }

  /** Also called for the steps of a child process. */
  unstored(error: OncueError): void {
    this.#run.refuseRepeat(error)
  }

  get checkpoint(): JobContext['checkpoint'] {
    return (cursor) => unawaited(this.#checkpoint(cursor))
  }

  get emit(): JobContext['emit'] {
    return (type, data) => unawaited(this.#emit(type, data))
  }

  get spawn(): JobContext['spawn'] {
    return (topic, payload, options) => this.#enqueue(topic, payload, { ...options, parentId: this.job.id })
  }

  get enqueue(): JobContext['enqueue'] {
    return (topic, payload, options) => this.#enqueue(topic, payload, { ...options, parentId: undefined })
  }

  /** Writes an event of the run; for emit and steps. */
  async keep(event: NewEvent): Promise<void> {
    this.#assertMine()
    this.#ownEvents.event(event)
    await this.#ownEvents.written()
  }

  /** A page of the events of the job. */
  events(afterVersion: number): Promise<JobEvent[]> {
    return this.#around.store.events.list(this.job.id, { afterVersion })
  }

  /** Events not written yet; undefined for nearly every run, which then ends without waiting. */
  get unwritten(): RunEvents | undefined {
    return this.#events?.isSettled === false ? this.#events : undefined
  }

  get #ownEvents(): RunEvents {
    this.#events ??= this.#around.events.of(this.#run.job, () => this.#run.lose())
    return this.#events
  }

  async #checkpoint(cursor: unknown): Promise<void> {
    this.#assertMine()
    await this.#ownEvents.cursor(encodeJson(cursor, 'cursor'))
  }

  async #emit(type: string, data: unknown): Promise<void> {
    this.#assertMine()
    if (OWN_EVENTS.has(type)) {
      throw new OncueError('INVALID_INPUT', `events of type "${type}" are reserved for Oncue`)
    }
    const [event] = encodeEvents([{ type, data }])
    await this.keep({ type, data: event?.data == null ? undefined : JSON.parse(event.data) })
  }

  async #enqueue(topic: string, payload: unknown, options: EnqueueOptions): Promise<JobId> {
    this.#assertMine()
    const { store, registry } = this.#around
    const trace = options.trace ?? currentTraceparent() ?? this.job.trace ?? undefined
    const prepared = prepareJob(topic, payload, { ...options, trace }, registry.get(topic)?.definition)
    const [id] = await store.enqueue([prepared])
    return id ?? prepared.id
  }

  #assertMine(): void {
    if (!this.#run.isOver) return
    const { id, run } = this.job
    throw new OncueError('STALE_RUN', `run ${run} of job ${id} has ended; its context can no longer write`)
  }
}
