import { isOncueError, type NewJob, OncueError } from '@oncue/core'
import { type Enqueued, MAX_HEALTH_QUEUES } from '@oncue/core/wire'
import type { Store } from '@oncue/db'
import type { Runtime } from '@oncue/runtime'
import { Batcher } from './batcher.ts'

export type Stored = Enqueued | OncueError

/** The size of one transaction: up to a thousand small jobs, or a few large ones. */
const MAX_BYTES = 1_000_000
const BYTES_BESIDE_PAYLOAD = 1_000

/** All other queues in metrics. No queue can have this name. */
export const OTHER_QUEUES = '*'

/**
 * Stores independent jobs. Concurrent callers share a transaction, and a job that cannot be stored does not keep out
 * the rest.
 */
export class Enqueuer {
  /** How many jobs this process stored, by queue; beyond a limit, the other queues are counted together. */
  readonly stored = new Map<string, number>()
  readonly #store: Store
  readonly #batches: Batcher<readonly NewJob[], Stored[]>

  constructor(store: Store, runtime?: Runtime) {
    this.#store = store
    this.#batches = new Batcher((requests) => this.#storeTogether(requests), {
      maxItems: 100,
      // One batch is written while the responses of the other are sent.
      maxAtOnce: 2,
      runtime,
      maxSize: MAX_BYTES,
      sizeOf: (jobs) => jobs.reduce((sum, { payload }) => sum + payload.length + BYTES_BESIDE_PAYLOAD, 0),
    })
  }

  /** Stores each job independently, and returns an id or an error for each. */
  storeEach(jobs: readonly NewJob[]): Promise<Stored[]> {
    return jobs.length === 0 ? Promise.resolve([]) : this.#batches.add(jobs)
  }

  /** All or none. */
  async storeAll(jobs: readonly NewJob[]): Promise<Enqueued[]> {
    const outcomes = await this.#store.enqueueWithOutcomes(jobs)
    return jobs.map((job, n) => {
      const outcome = outcomes[n]
      if (outcome === undefined) throw new OncueError('INTERNAL', 'The enqueue returned no id')
      const { id, kind } = outcome
      const created = kind === 'created'
      if (created) this.#count(job.queue)
      return { id, created, replaced: kind === 'replaced' }
    })
  }

  #count(queue: string): void {
    const isListed = this.stored.has(queue) || this.stored.size < MAX_HEALTH_QUEUES
    const name = isListed ? queue : OTHER_QUEUES
    this.stored.set(name, (this.stored.get(name) ?? 0) + 1)
  }

  async #storeTogether(requests: readonly (readonly NewJob[])[]): Promise<Stored[][]> {
    const stored = await this.#storeBisected(requests.flat())
    let end = 0
    return requests.map(({ length }) => {
      end += length
      return stored.slice(end - length, end)
    })
  }

  /** Uses as few transactions as possible: a failed batch is halved until the faulty jobs are alone. */
  async #storeBisected(jobs: readonly NewJob[]): Promise<Stored[]> {
    try {
      return await this.storeAll(jobs)
    } catch (error) {
      if (!isOncueError(error)) throw error
      // A retryable error concerns all of these jobs; other parts of the batch may already be stored.
      if (error.retryable || jobs.length === 1) return jobs.map(() => error)
      const middle = Math.ceil(jobs.length / 2)
      const first = await this.#storeBisected(jobs.slice(0, middle))
      return [...first, ...(await this.#storeBisected(jobs.slice(middle)))]
    }
  }
}
