import {
  DEFAULTS,
  type EnqueueOptions,
  type InputOf,
  type JobDefinitions,
  type JobId,
  newJobId,
  OncueError,
  type OutputOf,
  prepareJob,
  type TopicOf,
} from '@oncue/core'
import { parseResult, type Registry, unknownTopic } from '@oncue/core/internal'
import { type Claimed, type ClaimedJob, type JobDetails, openStore, type Store } from '@oncue/db'
import { type Logger, silentLogger, systemRuntime } from '@oncue/runtime'
import { asWritten, reportEnd } from './observability/report.ts'
import { toSettings, type WorkerOptions } from './options.ts'
import { createExecutor, type Executor } from './run/executor.ts'

/** Long enough for any test: the clock stands still unless it is advanced. */
const LEASE_MS = 86_400_000
const ABANDON_MS = 100
const MAX_WAITING = 1_000
/** Ends a test whose job snoozes for 0 ms again and again. */
const MAX_RUNS = 1_000

export interface TestWorkerOptions<Jobs extends JobDefinitions>
  extends Pick<WorkerOptions, 'workers' | 'use' | 'retry' | 'abandonMs' | 'log'> {
  /** Gives the calls below their types. */
  readonly jobs?: Jobs | undefined
  /** Where the clock of the store starts. Default: now. */
  readonly now?: Date | undefined
}

/** A job as it is stored. Its `result` is parsed by `output`, as by `wait`; null until the job is completed. */
export type TestedJob<Result = unknown> = Omit<JobDetails, 'result'> & { readonly result: Result | null }

type OnlyNow = Omit<EnqueueOptions, 'runAt' | 'delay' | 'after'>

/**
 * Runs jobs in a test: with the schemas, the context, the outcomes and the store of a real worker, but one at
 * a time, in this process, and only when asked. The database is a temporary SQLite file.
 */
export async function createTestWorker<const Jobs extends JobDefinitions = JobDefinitions>(
  options: TestWorkerOptions<Jobs>,
): Promise<TestWorker<Jobs>> {
  const clock = { ms: options.now?.getTime() ?? systemRuntime.now() }
  const store = await openStore(':memory:', { clock: () => new Date(clock.ms), synchronous: 'NORMAL' })
  try {
    return new TestWorker(store, clock, options)
  } catch (error) {
    await store.close()
    throw error
  }
}

export class TestWorker<Jobs extends JobDefinitions = JobDefinitions> {
  /** For everything that has no method here: lists, events, requeue, cancel. */
  readonly store: Store
  readonly #clock: { ms: number }
  readonly #jobs: JobDefinitions
  readonly #registry: Registry
  readonly #queues: readonly string[]
  readonly #executor: Executor
  readonly #log: Logger
  readonly #id = systemRuntime.uuid()
  /** When the last claim said that the next job is due. */
  #nextLook = Number.POSITIVE_INFINITY

  constructor(store: Store, clock: { ms: number }, options: TestWorkerOptions<Jobs>) {
    const { jobs = {}, log = silentLogger, abandonMs = ABANDON_MS, workers, use, retry } = options
    const settings = toSettings({ store, workers, use, retry, log, abandonMs })
    this.store = store
    this.#clock = clock
    this.#jobs = jobs
    this.#registry = settings.registry
    this.#queues = settings.queues
    this.#log = log
    this.#executor = createExecutor({ ...settings, worker: this.#id, middleware: settings.use, inline: true })
  }

  /** The store's clock. */
  now(): Date {
    return new Date(this.#clock.ms)
  }

  /** Stores a job. It runs with the next `drain` or `advance`. */
  async enqueue<Topic extends TopicOf<Jobs>>(
    topic: Topic,
    payload: InputOf<Jobs, Topic>,
    options?: EnqueueOptions,
  ): Promise<JobId> {
    const definition = this.#registry.get(topic)?.definition ?? this.#jobs[topic]
    const prepared = prepareJob(topic, payload, options, definition, () => newJobId(this.#clock.ms))
    const [id] = await this.store.enqueue([prepared])
    return id ?? prepared.id
  }

  /** Stores a job and runs it once, now, and no other; not even those that it spawns. */
  async run<Topic extends TopicOf<Jobs>>(
    topic: Topic,
    payload: InputOf<Jobs, Topic>,
    options?: OnlyNow,
  ): Promise<TestedJob<OutputOf<Jobs, Topic>>> {
    if (!this.#registry.get(topic)) {
      throw unknownTopic(topic, 'has no handler in the workers of this test', this.#registry.topics())
    }
    const id = await this.enqueue(topic, payload, options)
    await this.#execute(await this.#claimOnly(id))
    return this.#read<OutputOf<Jobs, Topic>>(id)
  }

  /** Runs due jobs, and those they lead to, until none is due. Returns the jobs it ran, in order. */
  async drain({ maxRuns = MAX_RUNS }: { maxRuns?: number } = {}): Promise<TestedJob[]> {
    const done: TestedJob[] = []
    for (;;) {
      const { jobs, nextDue } = await this.#claim(1)
      const [job] = jobs
      this.#nextLook = nextDue?.getTime() ?? Number.POSITIVE_INFINITY
      if (!job) return done
      if (done.length === maxRuns) {
        throw new OncueError(
          'INVALID_STATE',
          `after ${maxRuns} runs there is still a job to run: ${job.topic}`,
          {
            hint: 'Check for a handler that snoozes for 0 ms or enqueues its own topic; otherwise raise maxRuns.',
          },
        )
      }
      await this.#execute(job)
      done.push(await this.#read(job.id))
    }
  }

  /** Moves the clock on, and runs each job when it is due and its rate allows it: retries, snoozes, delayed jobs. */
  async advance(ms: number): Promise<TestedJob[]> {
    const end = this.#clock.ms + ms
    const done = await this.drain()
    while (this.#clock.ms < end) {
      this.#clock.ms = Math.min(await this.#nextDue(), end)
      done.push(...(await this.drain()))
    }
    return done
  }

  /** Closes and deletes the database. */
  async close(): Promise<void> {
    await this.#executor.close()
    await this.store.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #claim(limit: number): Promise<Claimed> {
    const stored = (await this.store.queues()).map(({ queue }) => queue)
    const queues = [...new Set([...this.#queues, ...stored, DEFAULTS.queue])]
    const topics = this.#registry.topics()
    return this.store.claim({ queues, topics, limit, worker: this.#id, leaseMs: LEASE_MS })
  }

  async #claimOnly(id: JobId): Promise<ClaimedJob> {
    const { jobs: claimed } = await this.#claim(MAX_WAITING)
    const others = claimed.filter((job) => job.id !== id)
    const released = others.map(({ id, run }) => ({ id, run, kind: 'release' as const }))
    await this.store.settle(released, this.#id)
    const job = claimed.find((candidate) => candidate.id === id)
    if (job) return job
    throw new OncueError('INVALID_STATE', `job ${id} cannot run now`, {
      hint: 'Check whether its queue is paused, a limit is reached, or another job holds its unique key.',
    })
  }

  async #execute(job: ClaimedJob): Promise<void> {
    const { settlement } = await this.#executor.start(job).ended
    if (!settlement) return
    const written = asWritten(job, settlement, await this.store.settle([settlement], this.#id))
    if (written) reportEnd(this.#log, job, written)
  }

  async #nextDue(): Promise<number> {
    const { items } = await this.store.list({ status: 'pending' }, { limit: MAX_WAITING })
    const known = items.filter(({ topic }) => this.#registry.get(topic))
    const times = known.map(({ visibleAt }) => visibleAt?.getTime() ?? Number.POSITIVE_INFINITY)
    // A rate limit says when it allows the next job.
    return Math.min(...[...times, this.#nextLook].filter((time) => time > this.#clock.ms))
  }

  async #read<Result>(id: JobId): Promise<TestedJob<Result>> {
    const job = await this.store.get(id)
    if (!job) throw new OncueError('JOB_NOT_FOUND', `job ${id} was deleted while it ran`)
    const definition = this.#registry.get(job.topic)?.definition
    if (job.status !== 'completed' || !definition) return job as TestedJob<Result>
    return { ...job, result: parseResult(definition.output, job.result, job.topic) as Result }
  }
}
