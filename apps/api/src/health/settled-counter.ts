import { DURATION_BUCKETS_MS, type Store } from '@oncue/db'

/** What ended; of wait and run time how many there were in each bucket of the store. */
export type Ended = {
  readonly completed: number
  readonly failed: number
  readonly cancelled: number
  readonly wait: { readonly counts: readonly number[] }
  readonly run: { readonly counts: readonly number[] }
}

const MINUTE_MS = 60_000
/** A settle is counted in the minute that its transaction began in; none takes longer than this. */
const OPEN_MINUTES = 5

const EMPTY = { counts: DURATION_BUCKETS_MS.map(() => 0) }
const NOTHING: Ended = { completed: 0, failed: 0, cancelled: 0, wait: EMPTY, run: EMPTY }

/**
 * Counts what ended since it was made. The store knows it by the minute: minutes that are over are added up
 * once, and the last few are read again each time.
 */
export class SettledCounter {
  readonly #store: Pick<Store, 'series' | 'now'>
  #closed = NOTHING
  #openFrom: Date | undefined

  constructor(store: Pick<Store, 'series' | 'now'>) {
    this.#store = store
  }

  async read(): Promise<Ended> {
    const now = (await this.#store.now()).getTime()
    const openFrom = this.#openFrom ?? minuteOf(now)
    this.#openFrom = openFrom
    const closeBefore = minuteOf(now - OPEN_MINUTES * MINUTE_MS)
    const points = await this.#store.series({ from: openFrom, to: new Date(now + MINUTE_MS) })
    const ended = points.reduce(plus, this.#closed)
    if (closeBefore > openFrom && this.#openFrom === openFrom) {
      this.#closed = points.filter(({ minute }) => minute < closeBefore).reduce(plus, this.#closed)
      this.#openFrom = closeBefore
    }
    return ended
  }
}

function minuteOf(ms: number): Date {
  return new Date(Math.floor(ms / MINUTE_MS) * MINUTE_MS)
}

function plus(sum: Ended, { completed, failed, cancelled, wait, run }: Ended): Ended {
  return {
    completed: sum.completed + completed,
    failed: sum.failed + failed,
    cancelled: sum.cancelled + cancelled,
    wait: plusCounts(sum.wait, wait),
    run: plusCounts(sum.run, run),
  }
}

function plusCounts(a: Ended['wait'], b: Ended['wait']): Ended['wait'] {
  return { counts: a.counts.map((count, bucket) => count + (b.counts[bucket] ?? 0)) }
}
