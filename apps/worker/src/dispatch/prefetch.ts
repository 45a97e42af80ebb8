/** Prefetched jobs keep the slots busy for this long. */
const AHEAD_MS = 100
/** Jobs that take longer are not prefetched: another worker may have a free slot for them. */
const SHORT_MS = 50
const MOST = 1_000
/** Limit of the memory of prefetched jobs, by the JSON of their payloads. */
const MOST_BYTES = 16 * 2 ** 20
/** Payloads measured per claim. */
const SAMPLES = 10
/** The weight of the latest run in the mean. One long run among short ones stops prefetching for about thirty runs. */
const WEIGHT = 0.1

/**
 * How many jobs to prefetch, by the mean duration of runs and the mean size of payloads. None before the first
 * run has ended.
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

  /** Stops prefetching until the next run ends: the runs under way are long. */
  reset(): void {
    this.#meanMs = Number.POSITIVE_INFINITY
  }

  count(slots: number): number {
    if (this.#meanMs > SHORT_MS) return 0
    const inTime = Math.ceil((slots * AHEAD_MS) / Math.max(this.#meanMs, 0.001))
    return Math.min(MOST, inTime, Math.floor(MOST_BYTES / Math.max(this.#meanBytes, 1)))
  }
}
