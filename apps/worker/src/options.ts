import {
  DEFAULTS,
  type JobError,
  OncueError,
  type PlainWorkers,
  type RetryOptions,
  type RetryPolicy,
  type Workers,
} from '@oncue/core'
import {
  assertQueue,
  type Registry,
  retryOptionsSchema,
  toInputError,
  toRegistry,
} from '@oncue/core/internal'
import type { ClaimedJob, Settlement, Store } from '@oncue/db'
import { createLogger } from '@oncue/logger'
import { type Logger, type Runtime, systemRuntime } from '@oncue/runtime'
import { z } from 'zod'
import type { MaintenanceOptions } from './maintenance/maintenance.ts'
import { DEFAULT_MAX_POLL_MS, LEAST_MAX_POLL_MS } from './poll.ts'
import type { Middleware } from './run/middleware.ts'
import { defaultService, serviceSchema, versionSchema } from './service.ts'
import { VERSION } from './version.ts'

/**
 * Called when a job has failed permanently: no retries were left, or no retry would help. `job.payload` is the stored one.
 * Errors that it throws are logged. It is called only for runs of this worker: not for a job that failed because its
 * worker died, and not if this worker dies before the call.
 */
export type OnFailed = (job: ClaimedJob, error: JobError) => unknown

/** What a worker serves, and how. Only `store` and `workers` are needed. */
export interface WorkerOptions {
  /** The caller closes it: `stop()` does not. */
  readonly store: Store
  /** The handlers: from `defineWorkers`, plain objects of handlers by topic, or a list of them. */
  readonly workers: Workers | PlainWorkers | readonly (Workers | PlainWorkers)[]
  /** URLs of the modules that hold the handlers; needed for `isolate: true`. Default: none. */
  readonly modules?: readonly string[] | undefined
  /**
   * The service that this worker is part of: schedules in code belong to it. Default: the name in the nearest
   * package.json.
   */
  readonly service?: string | undefined
  /**
   * The release of your code: a version, a tag or a commit. Charts mark when the first worker of a new one started.
   * Default: the version of Oncue.
   */
  readonly version?: string | undefined
  /** In order of preference. Default: the queues that the definitions name, then `default`. */
  readonly queues?: readonly string[] | undefined
  /** How many jobs run at once, 1 to 1,000. Default: 10. */
  readonly concurrency?: number | undefined
  /**
   * Milliseconds between polls for jobs whose notification was lost, from 10. Default: 1,000. 'auto', on Postgres: while no
   * job runs and none is due soon, nothing at all is sent for up to `maxPollMs`, so that the database may sleep.
   */
  readonly pollMs?: number | 'auto' | undefined
  /** With `pollMs: 'auto'`: milliseconds after which an idle worker polls at the latest, from 60,000. Default: 900,000. */
  readonly maxPollMs?: number | undefined
  /** Milliseconds that a run owns its job without a heartbeat, from 100. Default: 30,000. */
  readonly leaseMs?: number | undefined
  /** Milliseconds that `stop()` waits for running jobs. Default: 30,000. */
  readonly graceMs?: number | undefined
  /** Milliseconds that a handler may ignore its signal before its run is abandoned. Default: 5,000. */
  readonly abandonMs?: number | undefined
  /** Retry policy for jobs without one of their own or of their topic; its delays are milliseconds. */
  readonly retry?: RetryOptions | undefined
  /** Middleware around every run, the outermost first. Default: none. */
  readonly use?: readonly Middleware[] | undefined
  /**
   * Called with every end of a run after it was written, as it was written: the last retry is a `fail`; a retry or
   * snooze is a `cancel` if the job was cancelled or replaced meanwhile.
   */
  readonly onSettled?: ((job: ClaimedJob, settlement: Settlement) => void) | undefined
  /** Called for every job that failed permanently, after that was written. */
  readonly onFailed?: OnFailed | undefined
  /** Default: warnings and errors on standard output. */
  readonly log?: Logger | undefined
  /** Pruning, statistics and schedules: one worker at a time does them. false: never this one. */
  readonly maintenance?: false | MaintenanceOptions | undefined
  /**
   * 'inline' sends heartbeats from the main thread: for few connections, tests with their own clock, and many workers in
   * one process.
   */
  readonly lease?: 'thread' | 'inline' | undefined
  /** For tests: replaces the clock and chance of this worker. Needs `lease: 'inline'`: a thread has its own. */
  readonly runtime?: Runtime | undefined
}

/** Options that were checked, with their defaults. */
export interface Settings {
  readonly store: Store
  readonly registry: Registry
  readonly modules: readonly string[]
  readonly service: string
  readonly version: string
  readonly queues: readonly string[]
  readonly concurrency: number
  readonly pollMs: number
  /** Null: it never rests. */
  readonly maxPollMs: number | null
  readonly leaseMs: number
  readonly graceMs: number
  readonly abandonMs: number
  readonly retry: RetryPolicy | null
  readonly use: readonly Middleware[]
  readonly onSettled: WorkerOptions['onSettled']
  readonly onFailed: WorkerOptions['onFailed']
  readonly log: Logger
  readonly maintenance: false | MaintenanceOptions
  readonly lease: 'thread' | 'inline'
  readonly runtime: Runtime
}

const duration = (min: number) =>
  z.int().min(min).max(DAY_MS).describe(`whole milliseconds, from ${min} to ${DAY_MS}`)

const DAY_MS = 86_400_000

const checkedSchema = z.object({
  service: serviceSchema.default(() => defaultService()),
  version: versionSchema.default(VERSION),
  concurrency: z
    .int()
    .min(1)
    .max(1_000)
    .describe('a whole number from 1 to 1000')
    .default(DEFAULTS.concurrency),
  pollMs: z
    .union([z.literal('auto'), duration(10)])
    .describe(`'auto', or whole milliseconds, from 10 to ${DAY_MS}`)
    .default(DEFAULTS.pollMs),
  maxPollMs: duration(LEAST_MAX_POLL_MS).default(DEFAULT_MAX_POLL_MS),
  leaseMs: duration(100).default(DEFAULTS.leaseMs),
  graceMs: duration(0).default(30_000),
  abandonMs: duration(0).default(5_000),
  retry: retryOptionsSchema.optional(),
  lease: z.enum(['thread', 'inline']).default('thread'),
})

export function toSettings(options: WorkerOptions): Settings {
  const parsed = checkedSchema.safeParse(options)
  if (!parsed.success) throw toInputError(parsed.error, 'options', options)
  const { retry: retryOptions, pollMs, maxPollMs, ...numbers } = parsed.data
  const { store, workers, modules = [], use = [], onSettled, onFailed, maintenance = {} } = options
  const { runtime = systemRuntime } = options
  const log = options.log ?? createLogger({ level: 'warn' })
  const registry = toRegistry(...(isList(workers) ? workers : [workers]))
  assertMemoryLimits(registry)
  const queues = [...new Set(options.queues ?? queuesOf(registry))]
  for (const queue of queues) assertQueue(queue)
  const retry = toPolicy(retryOptions)
  return {
    ...numbers,
    pollMs: pollMs === 'auto' ? DEFAULTS.pollMs : pollMs,
    maxPollMs: pollMs === 'auto' ? maxPollMs : null,
    store,
    registry,
    modules,
    use,
    onSettled,
    onFailed,
    log,
    maintenance,
    queues,
    retry,
    runtime,
  }
}

/** A limit that is not kept would be worse than none. */
export function assertMemoryLimits(registry: Registry, bun = process.versions.bun): void {
  if (bun === undefined) return
  const limited = registry.topics().find((topic) => registry.get(topic)?.definition.isolate?.memoryMb)
  if (limited === undefined) return
  const message = `${limited} is defined with isolate.memoryMb, a limit that Bun ${bun} does not keep`
  throw new OncueError('UNSUPPORTED_RUNTIME', message, {
    hint: 'Run this worker with Node.js or Deno, or define the topic with `isolate: true`.',
  })
}

/** Without `max`, which is stored with a job when it is enqueued. */
function toPolicy(options: RetryOptions | undefined): RetryPolicy | null {
  if (!options) return null
  const { max: _, ...policy } = options
  return { ...policy, strategy: policy.strategy ?? 'quadratic' }
}

function isList(workers: WorkerOptions['workers']): workers is readonly (Workers | PlainWorkers)[] {
  return Array.isArray(workers)
}

function queuesOf(registry: Registry): string[] {
  const named = registry.describe().map(({ queue }) => queue ?? DEFAULTS.queue)
  return [...named.filter((queue) => queue !== DEFAULTS.queue), DEFAULTS.queue]
}
