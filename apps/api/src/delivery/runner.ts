import { OncueError } from '@oncue/core'
import { INTERNAL_QUEUE } from '@oncue/core/internal'
import type { Claimed, ClaimedJob, Settlement, Store } from '@oncue/db'
import { type Logger, Loop, type Runtime, type Service, systemRuntime, withTimeout } from '@oncue/runtime'
import { retried } from './outcome.ts'

/** Runs one job. The signal is aborted when the process stops. A thrown error is retried. */
export type Handler = (job: ClaimedJob, signal: AbortSignal) => Promise<Settlement>

const SLOTS = 100
/** For jobs that another process left, and requeued ones. */
const POLL_MS = 5_000
/** Longer than a run takes, so that none needs heartbeats. The jobs of a process that dies run again after this. */
const LEASE_MS = 60_000
/** How long runs may go on when the process stops. */
const GRACE_MS = 1_000

export interface RunnerOptions {
  readonly store: Store
  readonly log: Logger
  readonly handlers: ReadonlyMap<string, Handler>
  readonly runtime?: Runtime | undefined
}

/**
 * Runs Oncue's internal jobs in the API, because the alert that no worker is left must be sent when no worker is left. It does
 * not count as a worker.
 */
export class Runner implements Service {
  readonly #options: RunnerOptions
  readonly #runtime: Runtime
  readonly #id: string
  readonly #loop: Loop
  readonly #running = new Set<Promise<void>>()
  #givingUp = new AbortController()

  constructor(options: RunnerOptions) {
    const { log, runtime = systemRuntime } = options
    this.#options = options
    this.#runtime = runtime
    this.#id = runtime.uuid()
    this.#loop = new Loop({ what: 'claiming notifications', log, runtime, work: () => this.#claim() })
  }

  start(): void {
    if (this.#givingUp.signal.aborted) this.#givingUp = new AbortController()
    this.#loop.start()
  }

  /** Claims now instead of with the next poll. */
  wake(): void {
    this.#loop.wake()
  }

  /** Runs have a second to finish; the rest is released. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    const release = () => {
      this.#givingUp.abort()
      return this.#ended()
    }
    await withTimeout(this.#ended(), GRACE_MS, release, this.#runtime)
    this.#givingUp.abort()
  }

  async #ended(): Promise<void> {
    await Promise.all(this.#running)
  }

  /** Returns when to claim again. */
  async #claim(): Promise<number> {
    const { store, handlers } = this.#options
    const limit = SLOTS - this.#running.size
    // The next run that ends wakes the loop.
    if (limit === 0) return POLL_MS
    const claimed = await store.claim({
      queues: [INTERNAL_QUEUE],
      topics: [...handlers.keys()],
      limit,
      worker: this.#id,
      leaseMs: LEASE_MS,
    })
    for (const job of claimed.jobs) this.#begin(job)
    return claimAgainMs(claimed)
  }

  #begin(job: ClaimedJob): void {
    const run = this.#run(job).finally(() => {
      const wasFull = this.#running.size === SLOTS
      this.#running.delete(run)
      if (wasFull) this.#loop.wake()
    })
    this.#running.add(run)
  }

  async #run(job: ClaimedJob): Promise<void> {
    const { store, log } = this.#options
    try {
      await store.settle([await this.#settlementOf(job)], this.#id)
    } catch (error) {
      log.warn(
        { err: error, job: job.id },
        'could not settle a notification; it is sent again when its lease expires',
      )
    }
  }

  async #settlementOf(job: ClaimedJob): Promise<Settlement> {
    const { id, run, topic } = job
    const { signal } = this.#givingUp
    try {
      const handle = this.#options.handlers.get(topic)
      if (!handle) throw new OncueError('UNKNOWN_TOPIC', `The API has no handler for ${topic}`)
      return await handle(job, signal)
    } catch (error) {
      if (signal.aborted) return { id, run, kind: 'release', interrupted: true }
      return retried(job, error, this.#runtime)
    }
  }
}

/** At once where there may be more. A due job that was not claimed is another process's, or paused: it can wait for the poll. */
export function claimAgainMs({ jobs, nextDue, now }: Claimed): number {
  if (jobs.length > 0) return 0
  const ms = nextDue ? nextDue.getTime() - now.getTime() : POLL_MS
  return ms > 0 ? Math.min(ms, POLL_MS) : POLL_MS
}
