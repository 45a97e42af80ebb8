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
  type Transactions,
} from '@oncue/core'
import { parseResult, type Registry, unknownTopic } from '@oncue/core/internal'
import {
  assertSameDatabase,
  type Claimed,
  type ClaimedJob,
  createQueue,
  type JobDetails,
  migrate,
  openStore,
  type Queue,
  rollback,
  type Store,
} from '@oncue/db'
import { type Logger, silentLogger, systemRuntime } from '@oncue/runtime'
import { asWritten, reportEnd } from './observability/report.ts'
import { toSettings, type WorkerOptions } from './options.ts'
import { createExecutor, type Executor, type Run } from './run/executor.ts'

/** Long enough for any test: the clock stands still unless it is advanced. */
const LEASE_MS = 86_400_000
const ABANDON_MS = 100
const MAX_WAITING = 1_000
/** Ends a test whose job snoozes for 0 ms again and again. */
const MAX_RUNS = 1_000

/** Which handlers a test runs, and on what. */
export interface TestWorkerOptions<Jobs extends JobDefinitions>
  extends Pick<WorkerOptions, 'workers' | 'use' | 'retry' | 'abandonMs' | 'log'> {
  /** Gives the calls below their types. */
  readonly jobs?: Jobs | undefined
  /** Where the clock of the store starts. Default: now. */
  readonly now?: Date | undefined
  /**
   * A Postgres or SQLite database: `postgres://…`, `file:./path.db`. The test worker makes a schema of its own there (`store.schema`),
   * and removes it when it is closed. Default: a temporary SQLite file.
   */
  readonly url?: string | undefined
  /**
   * For `ctx.commit` and `ctx.complete`, instead of those that the workers were defined with. A function gets the store, to
   * connect to its database: `({ url }) => transactionsOf({ database: new Database(sqliteFile(url)) })`.
   */
  readonly transactions?: Transactions | ((store: Store) => Transactions) | undefined
}

/** A job as it is stored. Its `result` is parsed by `output`, as by `wait`; null until the job is completed. */
export type TestedJob<Result = unknown> = Omit<JobDetails, 'result'> & { readonly result: Result | null }

type OnlyNow = Omit<EnqueueOptions, 'runAt' | 'delay' | 'after'>

/**
 * Runs jobs in a test: with the schemas, the context, the outcomes and the store of a real worker, but one at
 * a time, in this process, and only when asked.
 */
export async function createTestWorker<const Jobs extends JobDefinitions = JobDefinitions>(
  options: TestWorkerOptions<Jobs>,
): Promise<TestWorker<Jobs>> {
  const clock = { ms: options.now?.getTime() ?? systemRuntime.now() }
  const { store, remove } = await openOwn(options.url, () => new Date(clock.ms))
  try {
    const worker = new TestWorker(store, clock, options, remove)
    for (const transactions of worker.transactions)
      await assertSameDatabase(store, transactions, systemRuntime)
    return worker
  } catch (error) {
    await store.close()
    await remove()
    throw error
  }
}

async function openOwn(
  url: string | undefined,
  clock: () => Date,
): Promise<{ store: Store; remove: () => Promise<void> }> {
  if (url === undefined) {
    const store = await openStore(':memory:', { clock, synchronous: 'NORMAL' })
    return { store, remove: async () => {} }
  }
  const schema = `oncue_test_${systemRuntime.uuid().replaceAll('-', '').slice(0, 16)}`
  const remove = async () => {
    while (await rollback(url, { schema, force: true })) {}
  }
  try {
    await migrate(url, { schema })
    return { store: await openStore(url, { schema, clock, synchronous: 'NORMAL' }), remove }
  } catch (error) {
    await remove().catch(() => {})
    throw error
  }
}

/** Runs jobs in a test, on a database of its own, without waiting for time. */
export class TestWorker<Jobs extends JobDefinitions = JobDefinitions> {
  /** For everything that has no method here: lists, events, requeue, cancel. */
  readonly store: Store
  /** Sends a signal to a job that has not finished, as `createQueue` does. */
  readonly signal: Queue<Jobs>['signal']
  /** @internal To be checked. */
  readonly transactions: readonly Transactions[]
  readonly #clock: { ms: number }
  readonly #jobs: JobDefinitions
  readonly #registry: Registry
  readonly #queues: readonly string[]
  readonly #executor: Executor
  readonly #log: Logger
  readonly #id = systemRuntime.uuid()
  readonly #remove: () => Promise<void>
  #isRunning = false
  #current: Run | undefined
  #isKilled = false
  /** When the last claim said that the next job is due. */
  #nextLook = Number.POSITIVE_INFINITY

  /** Use `createTestWorker`. */
  constructor(
    store: Store,
    clock: { ms: number },
    options: TestWorkerOptions<Jobs>,
    remove: () => Promise<void>,
  ) {
    const { jobs = {}, log = silentLogger, abandonMs = ABANDON_MS, workers, use, retry, url } = options
    const settings = toSettings({ store, workers, use, retry, log, abandonMs })
    this.store = store
    this.#clock = clock
    this.#remove = remove
    this.#registry = settings.registry
    this.#jobs = { ...jobs, ...definitionsOf(settings.registry) }
    this.signal = createQueue({ store, jobs: this.#jobs as Jobs }).signal
    const { transactions: given } = options
    const own = typeof given === 'function' ? given(store) : given
    const defined = settings.registry.transactions()
    // Those of the workers are on another database than a temporary file.
    const isElsewhere = !own && url === undefined && defined.length > 0
    this.transactions = own ? [own] : isElsewhere ? [] : defined
    this.#queues = settings.queues
    this.#log = log
    this.#executor = createExecutor({
      ...settings,
      worker: this.#id,
      transactions: isElsewhere ? ELSEWHERE : own,
      middleware: settings.use,
      inline: true,
      // Waits end by the store's clock, whatever time the run takes.
      runtime: { ...systemRuntime, monotonic: () => clock.ms },
    })
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
    const definition = this.#jobs[topic]
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

  /** Runs due jobs, and those they lead to, until none is due or `kill` is called. Returns the jobs it ran, in order. */
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
      if (this.#isKilled) return done
    }
  }

  /**
   * Moves the clock on, and runs each job when it is due and its rate allows it: retries, snoozes, delayed jobs, waits that
   * are over. A `kill` stops the clock.
   */
  async advance(ms: number): Promise<TestedJob[]> {
    const end = this.#clock.ms + ms
    const done = await this.drain()
    while (this.#clock.ms < end && !this.#isKilled) {
      this.#clock.ms = Math.min(await this.#nextDue(), end)
      done.push(...(await this.drain()))
    }
    return done
  }

  /**
   * Ends the run that is under way as if its process had died: nothing more of it is recorded or settled, and its lease is
   * over. `run`, `drain` or `advance` returns, with the job still `processing`; the next `drain` or `advance` counts the crash
   * and runs it again. For a handler, one of its steps, or code beside them. It never resolves: what awaits it ends there.
   */
  kill(): Promise<never> {
    if (!this.#isRunning) {
      throw new OncueError('INVALID_STATE', 'there is no run to kill', {
        hint: 'Call kill() in a handler, in one of its steps, or while `run`, `drain` or `advance` is under way.',
      })
    }
    this.#isKilled = true
    this.#current?.die()
    return new Promise(() => {})
  }

  /** Closes and deletes the database, or its part of it. */
  async close(): Promise<void> {
    await this.#executor.close()
    await this.store.close()
    await this.#remove()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #claim(limit: number): Promise<Claimed> {
    // Signals of transactions that were committed meanwhile.
    await this.store.rescue()
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
    this.#isKilled = false
    this.#isRunning = true
    const current = this.#executor.start(job)
    this.#current = current
    // By its handler, which has started.
    if (this.#isKilled) current.die()
    const { settlement, isWritten } = await current.ended
    this.#current = undefined
    this.#isRunning = false
    const { id, run } = job
    // A lease that is over: the next claim frees the run.
    if (this.#isKilled) await this.store.heartbeat({ worker: this.#id, leaseMs: -1, runs: [{ id, run }] })
    if (!settlement) return
    if (isWritten) {
      reportEnd(this.#log, job, settlement)
      return
    }
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

const ELSEWHERE: Transactions = {
  mode: 'async',
  open: () => Promise.reject(isElsewhere()),
  within() {
    throw isElsewhere()
  },
}

function isElsewhere(): OncueError {
  const message = 'the transactions of the workers are not on the temporary database of this test'
  return new OncueError('OTHER_DATABASE', message, {
    hint: 'Give createTestWorker their database as `url`, or `transactions` for its own, made from its store.',
  })
}

function definitionsOf(registry: Registry): JobDefinitions {
  const entries = registry.topics().flatMap((topic) => {
    const worker = registry.get(topic)
    return worker ? [[topic, worker.definition] as const] : []
  })
  return Object.fromEntries(entries)
}
