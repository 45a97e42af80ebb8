/** Slots are kept busy for this long by what is prefetched. */
const AHEAD_MS = 100
/** Jobs that take longer are not prefetched: another worker may have a free slot for them. */
const SHORT_MS = 50
const MOST = 1_000
/** What waits takes about so much memory at most, by the JSON of its payloads. */
const MOST_BYTES = 16 * 2 ** 20
/** So many payloads of a claim are measured. */
const SAMPLES = 10
/** The weight of the latest run. One long run among short ones stops prefetching for some thirty of them. */
const WEIGHT = 0.1

/**
 * How long runs take and how large jobs are, and how many to prefetch because of that. Nothing is
 * prefetched before the first end.
 */
export class Prefetch {
  #meanMs = Number.POSITIVE_INFINITY
  #meanBytes = 0

  observeRun(runMs: number): void {
    this.#meanMs =
      this.#meanMs === Number.POSITIVE_INFINITY ? runMs : this.#meanMs + WEIGHT * (runMs - this.#meanMs)
  }

  observeSizes(payloads: readonly unknown[]): void {
    const step = Math.ceil(payloads.length / SAMPLES)
    for (let n = 0; n < payloads.length; n += step) {
      const bytes = JSON.stringify(payloads[n])?.length ?? 0
      this.#meanBytes += WEIGHT * (bytes - this.#meanBytes)
    }
  }

  /** Runs turned out to be long that have not even ended. */
  reset(): void {
    this.#meanMs = Number.POSITIVE_INFINITY
  }

  count(slots: number): number {
    if (this.#meanMs > SHORT_MS) return 0
    const inTime = Math.ceil((slots * AHEAD_MS) / Math.max(this.#meanMs, 0.001))
    return Math.min(MOST, inTime, Math.floor(MOST_BYTES / Math.max(this.#meanBytes, 1)))
  }
}
