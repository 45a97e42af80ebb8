import type { SeriesPoint, Store } from '@oncue/db'

type Counts = Record<'completed' | 'failed' | 'cancelled', number>

const MINUTE_MS = 60_000
/** A settle is counted in the minute that its transaction began in; none takes longer than this. */
const OPEN_MINUTES = 5

/**
 * Counts what ended since it was made. The store knows it by the minute: minutes that are over are added up
 * once, and the last few are read again each time.
 */
export class SettledCounter {
  readonly #store: Pick<Store, 'series' | 'now'>
  #closed: Counts = { completed: 0, failed: 0, cancelled: 0 }
  #openFrom: Date | undefined

  constructor(store: Pick<Store, 'series' | 'now'>) {
    this.#store = store
  }

  /** Also the last of the latest minutes in which something ran. */
  async read(): Promise<{ readonly counts: Counts; readonly last: SeriesPoint | undefined }> {
    const now = (await this.#store.now()).getTime()
    const openFrom = this.#openFrom ?? minuteOf(now)
    this.#openFrom = openFrom
    const closeBefore = minuteOf(now - OPEN_MINUTES * MINUTE_MS)
    const points = await this.#store.series({ from: openFrom, to: new Date(now + MINUTE_MS) })
    const counts = points.reduce(plus, this.#closed)
    if (closeBefore > openFrom && this.#openFrom === openFrom) {
      this.#closed = points.filter(({ minute }) => minute < closeBefore).reduce(plus, this.#closed)
      this.#openFrom = closeBefore
    }
    return { counts, last: points.at(-1) }
  }
}

function minuteOf(ms: number): Date {
  return new Date(Math.floor(ms / MINUTE_MS) * MINUTE_MS)
}

function plus(sum: Counts, { completed, failed, cancelled }: Counts): Counts {
  return {
    completed: sum.completed + completed,
    failed: sum.failed + failed,
    cancelled: sum.cancelled + cancelled,
  }
}
