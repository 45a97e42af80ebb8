import { type Enqueued, isOncueError, type NewJob, OncueError } from '@oncue/core'
import type { Store } from '@oncue/db'
import { Batcher } from './batcher.ts'

export type Stored = Enqueued | OncueError

/** Bytes of payload that go to the database together; a larger job goes alone. */
const MAX_BYTES = 1_000_000

/** Stores jobs that have nothing to do with each other: one that cannot be stored does not keep out the rest. */
export class Enqueuer {
  /** How many this process stored, by queue. */
  readonly stored = new Map<string, number>()
  readonly #store: Store
  readonly #singles: Batcher<NewJob, Stored>

  constructor(store: Store) {
    this.#store = store
    // Two at once keep the database busy while the answers of the first are sent. Measured: see bench/README.md.
    this.#singles = new Batcher((jobs) => this.storeEach(jobs), {
      maxItems: 100,
      maxAtOnce: 2,
      maxSize: MAX_BYTES,
      sizeOf: (job) => job.payload.length,
    })
  }

  /** Jobs of many callers at one moment share a transaction. */
  async storeOne(job: NewJob): Promise<Enqueued> {
    const stored = await this.#singles.add(job)
    if (stored instanceof OncueError) throw stored
    return stored
  }

  /** All or none. */
  async storeAll(jobs: readonly NewJob[]): Promise<Enqueued[]> {
    const ids = await this.#store.enqueue(jobs)
    return jobs.map((job, n) => {
      const id = ids[n]
      if (id === undefined) throw new OncueError('INTERNAL', 'The enqueue answered no id')
      const created = id === job.id
      if (created) this.stored.set(job.queue, (this.stored.get(job.queue) ?? 0) + 1)
      return { id, created }
    })
  }

  /** Each by itself, in as few transactions as possible: halves until those at fault stand alone. */
  async storeEach(jobs: readonly NewJob[]): Promise<Stored[]> {
    if (jobs.length === 0) return []
    try {
      return await this.storeAll(jobs)
    } catch (error) {
      // What may succeed later failed for all of them alike.
      if (!isOncueError(error) || error.retryable) throw error
      if (jobs.length === 1) return [error]
      const middle = Math.ceil(jobs.length / 2)
      const first = await this.storeEach(jobs.slice(0, middle))
      return [...first, ...(await this.storeEach(jobs.slice(middle)))]
    }
  }
}
