import { OncueError, type RetryPolicy, type Transactions } from '@oncue/core'
import type { Registry } from '@oncue/core/internal'
import type { ClaimedJob, Store } from '@oncue/db'
import { type Logger, type Runtime, systemRuntime } from '@oncue/runtime'
import { Isolates } from '../isolate/isolates.ts'
import { JobEvents } from './job-events.ts'
import { compose, type Middleware } from './middleware.ts'
import { OutcomeRecorder } from './outcome-recorder.ts'
import { type Ending, JobRun, type OnEnd, type Run } from './run.ts'
import { Timeouts } from './timeouts.ts'

export type { AbortReason } from './abort.ts'
export type { Ending, Run } from './run.ts'

export interface Executor {
  /** Starts a job at once. Called tens of thousands of times a second. `startedAt`: now, by the monotonic clock. */
  start(job: ClaimedJob, onEnd?: OnEnd, startedAt?: number): Run
  /** Writes the events that are left and ends child processes. */
  close(): Promise<void>
}

export interface ExecutorOptions {
  readonly store: Store
  /** Id of the worker that owns the runs: fences their writes. */
  readonly worker?: string | undefined
  readonly registry: Registry
  readonly log: Logger
  readonly middleware: readonly Middleware[]
  /** For jobs whose own policy and topic say nothing (ONCUE_RETRY_*). */
  readonly retry: RetryPolicy | null
  readonly abandonMs: number
  /** URLs of the modules that hold the handlers, for isolate: true. */
  readonly modules: readonly string[]
  /** Runs isolated topics in this process too, for tests. */
  readonly inline?: boolean | undefined
  /** Instead of those that workers were defined with, for tests. */
  readonly transactions?: Transactions | undefined
  readonly runtime?: Runtime | undefined
}

export function createExecutor(options: ExecutorOptions): Executor {
  const { store, worker, registry, log, middleware, runtime = systemRuntime } = options
  const events = new JobEvents({ store, worker, log, runtime })
  const recorder = new OutcomeRecorder({ store, worker, log, runtime })
  const isolates = options.inline ? undefined : createIsolates(options, runtime)
  const surroundings = {
    ...options,
    runtime,
    events,
    recorder,
    isolates,
    timeouts: new Timeouts(runtime),
    call: compose(middleware),
    hasMiddleware: middleware.length > 0,
  }
  return {
    start(job, onEnd, startedAt = runtime.monotonic()) {
      const worker = registry.get(job.topic)
      if (!worker) return unknownTopic(job, log, onEnd)
      return new JobRun(job, worker, surroundings, startedAt, onEnd)
    },
    async close() {
      await Promise.all([events.close(), recorder.close(), isolates?.close()])
    },
  }
}

function createIsolates(
  { registry, modules, store, worker }: ExecutorOptions,
  runtime: Runtime,
): Isolates | undefined {
  const isolated = registry.topics().find((topic) => registry.get(topic)?.definition.isolate)
  if (!isolated) return undefined
  if (modules.length === 0) {
    throw new OncueError('INVALID_INPUT', `the topic "${isolated}" is isolated, but no modules are given`, {
      hint: 'Pass `modules`: the URLs of the modules that export its handler, so that a child process can load them.',
    })
  }
  return new Isolates(modules, { store, worker, runtime })
}

/** Should not happen, since claims name their topics. Another worker may know the topic. */
function unknownTopic(job: ClaimedJob, log: Logger, onEnd: OnEnd | undefined): Run {
  const { id, run, topic } = job
  log.error({ job: id, topic, run }, 'no handler for this topic; the job was released')
  const ended = Promise.resolve<Ending>({ settlement: { id, run, kind: 'release' }, abandoned: false })
  // Not before the caller has the run.
  if (onEnd) void ended.then(onEnd)
  return { job, isCompleting: false, heard: () => undefined, abort() {}, die() {}, ended }
}
