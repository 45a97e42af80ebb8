import { randomUUID } from 'node:crypto'
import { type EnqueueOptions, type PlainWorkers, prepareJob, type Workers } from '@oncue/core'
import { toRegistry } from '@oncue/core/internal'
import type { JobDetails, Store } from '@oncue/db'
import { onTestFinished } from 'vitest'
import { createExecutor, type Executor, type ExecutorOptions, type Run } from '../src/run/executor.ts'
import { type Bench, TestLog } from './harness.ts'

export const START = Date.UTC(2026, 0, 1)

/** Executes jobs one by one, as a worker would: claim, start, settle. The store's clock stands still. */
export class Execution {
  readonly store: Store
  readonly executor: Executor
  readonly log: TestLog

  private constructor(store: Store, executor: Executor, log: TestLog) {
    this.store = store
    this.executor = executor
    this.log = log
  }

  static async on(
    bench: Bench,
    workers: Workers | PlainWorkers,
    options: Partial<ExecutorOptions> = {},
  ): Promise<Execution> {
    const store = await bench.open({ clock: () => new Date(START) })
    return Execution.with(store, workers, options)
  }

  static with(
    store: Store,
    workers: Workers | PlainWorkers,
    options: Partial<ExecutorOptions> = {},
  ): Execution {
    const log = new TestLog()
    const registry = toRegistry(workers)
    const defaults = { store, registry, log, middleware: [], retry: null, abandonMs: 50, modules: [] }
    const executor = createExecutor({ ...defaults, ...options })
    onTestFinished(() => executor.close())
    return new Execution(store, executor, log)
  }

  /** Enqueued without its definition, so that the payload may be invalid. */
  async start(topic: string, payload: unknown = {}, options?: EnqueueOptions): Promise<Run> {
    await this.store.enqueue([prepareJob(topic, payload, options)])
    return this.startNext(topic, options?.queue)
  }

  /** Starts the ready job of this topic. */
  async startNext(topic: string, queue = 'default'): Promise<Run> {
    const request = { queues: [queue], topics: [topic], limit: 1, worker: randomUUID(), leaseMs: 60_000 }
    const { jobs } = await this.store.claim(request)
    const [job] = jobs
    if (!job) throw new Error(`no job of the topic ${topic} is ready`)
    return this.executor.start(job)
  }

  /** Settles the outcome of the run, and reads the job afterwards. */
  async settled(run: Run): Promise<JobDetails> {
    const { settlement } = await run.ended
    if (settlement) await this.store.settle([settlement])
    const job = await this.store.get(run.job.id)
    if (!job) throw new Error('the job is gone')
    return job
  }

  async run(topic: string, payload?: unknown, options?: EnqueueOptions): Promise<JobDetails> {
    return this.settled(await this.start(topic, payload, options))
  }
}
