import type { JobError } from './failure.ts'
import type { Job } from './job.ts'
import { type FinishedStatus, isFinished } from './states.ts'

/** An event of a job's stream, as `events.list` and `jobs.events` return it. */
export interface StoredEvent {
  readonly type: string
  readonly data?: unknown
  readonly created: Date
}

/** What a plan, a node or a tool has come to. */
export interface ReplayedCall {
  /** `running` also if its worker died meanwhile. */
  readonly status: 'running' | 'finished' | 'failed'
  /** How often it was begun. */
  readonly calls: number
  /** Of a tool. Undefined: none, or too large for an event. */
  readonly args?: unknown
  /** The plan, or what the work returned. Undefined: nothing, or too large for an event. */
  readonly result?: unknown
  readonly error?: { readonly class: string; readonly message: string; readonly code?: string } | undefined
  readonly began: Date
  readonly ended: Date | null
}

/** The state of a job as its events tell it. */
export interface ReplayedJob {
  /** `pending`: live and not running, also while it is blocked by other jobs or suspended. */
  readonly status: 'pending' | 'processing' | FinishedStatus
  /** The number of the latest run that the events name. */
  readonly run: number
  /** The latest plan. */
  readonly plan: unknown
  /** By name, in the order in which they were begun first. */
  readonly plans: ReadonlyMap<string, ReplayedCall>
  readonly nodes: ReadonlyMap<string, ReplayedCall>
  readonly tools: ReadonlyMap<string, ReplayedCall>
  readonly progress: unknown
  readonly result: unknown
  /** Of the last run, or attempt of a step, that failed. */
  readonly error: JobError | null
}

type Ending = Pick<Job, 'topic' | 'status' | 'created' | 'result' | 'lastError' | 'finishedAt'>

/**
 * A job's events with those that its row tells: `job_created` before them and, if it has finished, `job_completed`,
 * `job_failed` or `job_cancelled` after them. Its row is written with the end itself, so that the two never disagree.
 */
export function withEnds(job: Ending, events: readonly StoredEvent[]): StoredEvent[] {
  const created = { type: 'job_created', data: { topic: job.topic }, created: job.created }
  const { status, result, lastError, finishedAt } = job
  if (!finishedAt || !isFinished(status)) return [created, ...events]
  const data = status === 'completed' ? { result } : { error: lastError }
  return [created, ...events, { type: `job_${status}`, data, created: finishedAt }]
}

/**
 * Rebuilds the state of a job from its events, in their order: all of them, or those up to some moment. `progress` and
 * the status `processing` are told only by topics with `events: 'all'`, creation and end by `withEnds`. Events of other
 * types change nothing.
 */
export function replay(events: Iterable<StoredEvent>): ReplayedJob {
  const state = new State()
  let position = 0
  for (const { type, data, created } of events) {
    position += 1
    if (Object.hasOwn(APPLY, type)) APPLY[type]?.(state, fieldsOf(data), { at: created, position })
  }
  return state.shown()
}

/** Every field may be missing: other versions write events too, and so do handlers. */
interface Fields {
  readonly name?: unknown
  readonly topic?: unknown
  readonly run?: unknown
  readonly value?: unknown
  readonly result?: unknown
  readonly plan?: unknown
  readonly args?: unknown
  readonly error?: unknown
  readonly jobId?: unknown
  readonly from?: unknown
}

type Moment = { readonly at: Date; readonly position: number }

type Kind = 'plans' | 'nodes' | 'tools'

class State {
  topic = ''
  status: ReplayedJob['status'] = 'pending'
  run = 0
  progress: unknown = null
  result: unknown = null
  error: JobError | null = null
  /** While it is being undone. */
  undoneFor: { readonly error: JobError | null } | undefined
  readonly #calls: Record<Kind, Map<string, ReplayedCall>> = {
    plans: new Map(),
    nodes: new Map(),
    tools: new Map(),
  }
  /** By name, where its last event is: what a requeue from a step forgets. */
  readonly #positions = new Map<string, number>()

  begin(kind: Kind, { name, args }: Fields, { at, position }: Moment): void {
    if (typeof name !== 'string') return
    const calls = (this.#calls[kind].get(name)?.calls ?? 0) + 1
    const given = args === undefined ? {} : { args }
    this.#calls[kind].set(name, { status: 'running', calls, ...given, began: at, ended: null })
    this.#positions.set(name, position)
  }

  end(kind: Kind, { name, error, ...fields }: Fields, { at, position }: Moment): void {
    if (typeof name !== 'string') return
    const result = kind === 'plans' ? fields.plan : fields.result
    const begun = this.#calls[kind].get(name) ?? { calls: 1, began: at }
    const how = error
      ? { status: 'failed' as const, error: error as NonNullable<ReplayedCall['error']> }
      : { status: 'finished' as const, ...(result !== undefined && { result }) }
    this.#calls[kind].set(name, { ...begun, ...how, ended: at })
    this.#positions.set(name, position)
  }

  /** A plain step: only where it was. */
  pass({ name }: Fields, { position }: Moment): void {
    if (typeof name === 'string') this.#positions.set(name, position)
  }

  /** Those from a step on; without one, from the start. */
  forget({ from }: Fields): void {
    const first = typeof from === 'string' ? this.#positions.get(from) : 0
    if (first === undefined) return
    if (typeof from !== 'string') this.progress = null
    for (const [name, position] of this.#positions) {
      if (position < first) continue
      this.#positions.delete(name)
      for (const calls of Object.values(this.#calls)) calls.delete(name)
    }
  }

  reset(): void {
    this.status = 'pending'
    this.progress = null
    this.#positions.clear()
    for (const calls of Object.values(this.#calls)) calls.clear()
  }

  shown(): ReplayedJob {
    const { status, run, progress, result, error } = this
    const plans = [...this.#calls.plans.values()].filter(({ ended }) => ended)
    const plan = plans.at(-1)?.result ?? null
    return { status, run, plan, ...this.#calls, progress, result, error }
  }
}

const APPLY: Readonly<Record<string, (state: State, data: Fields, moment: Moment) => void>> = {
  job_created: (state, { topic }) => {
    state.topic = String(topic)
  },
  run_started: (state, data) => {
    state.status = 'processing'
    noteRun(state, data)
  },
  run_failed: (state, data) => {
    endRun(state, data)
    state.error = data.error as JobError
  },
  run_crashed: (state, data) => {
    endRun(state, data)
    state.error = crashError(state.topic)
  },
  run_snoozed: endRun,
  run_interrupted: endRun,
  run_suspended: (state, data) => {
    endRun(state, data)
    // Of what it waits to repeat.
    if (data.error) state.error = data.error as JobError
  },
  // Its run may have been cancelled, which no other event tells.
  undoing: (state, { error }) => {
    state.status = 'pending'
    if (error !== undefined) state.error = error as JobError
    state.undoneFor = { error: state.error }
  },
  requeued: (state) => {
    // Its last run has undone it: then the job ended as it had to, whatever went wrong before.
    if (state.status === 'processing' && state.undoneFor) state.error = state.undoneFor.error
    state.undoneFor = undefined
    state.status = 'pending'
    state.result = null
  },
  steps_forgotten: (state, data) => state.forget(data),
  replaced: (state, { jobId }) => {
    // By another job it is asked to stop; with another payload it begins anew.
    if (jobId === undefined) state.reset()
  },
  progressed: (state, { value }) => {
    state.progress = value
  },
  step_finished: (state, data, moment) => state.pass(data, moment),
  plan_generated: (state, data, moment) => state.end('plans', data, moment),
  node_started: (state, data, moment) => state.begin('nodes', data, moment),
  node_finished: (state, data, moment) => state.end('nodes', data, moment),
  tool_called: (state, data, moment) => state.begin('tools', data, moment),
  tool_returned: (state, data, moment) => state.end('tools', data, moment),
  job_completed: (state, { result }) => {
    state.status = 'completed'
    state.result = result ?? null
  },
  job_failed: (state, data) => endJob(state, 'failed', data),
  job_cancelled: (state, data) => endJob(state, 'cancelled', data),
}

function noteRun(state: State, { run }: Fields): void {
  if (typeof run === 'number') state.run = run
}

function endRun(state: State, data: Fields): void {
  noteRun(state, data)
  state.status = 'pending'
}

function endJob(state: State, status: FinishedStatus, { error }: Fields): void {
  state.status = status
  // A job may end by something that no run did: a failed parent, the last crash. Or by a cancel, after a run failed in which
  // it was undone.
  state.error = error === undefined ? state.error : (error as JobError | null)
}

/** As the stores record it. */
function crashError(topic: string): JobError {
  return {
    class: 'WorkerCrashed',
    message: 'The worker that ran this job crashed or lost its lease',
    code: 'WORKER_CRASHED',
    fingerprint: `WORKER_CRASHED:${topic}`,
  }
}

const fieldsOf = (data: unknown): Fields => (typeof data === 'object' && data !== null ? data : {})
