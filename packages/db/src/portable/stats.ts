/** Durations are kept as counts per bucket: half powers of two, from 0 ms to beyond four hours. */
const BUCKETS = 48
const FIRST_LETTER = 48

const endOf = (bucket: number) => 2 ** ((bucket + 1) / 2) - 1

/** The upper end of each bucket, exclusive. Longer durations are in the last one. */
export const DURATION_BUCKETS_MS: readonly number[] = Array.from({ length: BUCKETS }, (_, n) => endOf(n))

/** One letter for a duration, as the function bucket of Postgres gives it. */
export function bucketOf(ms: number): string {
  const bucket = Math.floor((2 * Math.log(1 + Math.max(0, ms))) / Math.log(2))
  return String.fromCharCode(FIRST_LETTER + Math.min(BUCKETS - 1, bucket))
}

export type Histogram = number[]

export function emptyHistogram(): Histogram {
  return Array<number>(BUCKETS).fill(0)
}

/** Adds one count for each letter. */
export function addLetters(histogram: Histogram, letters: string): void {
  for (let i = 0; i < letters.length; i++) {
    const bucket = letters.charCodeAt(i) - FIRST_LETTER
    histogram[bucket] = (histogram[bucket] ?? 0) + 1
  }
}

export function addHistogram(histogram: Histogram, other: readonly number[]): void {
  other.forEach((count, bucket) => {
    histogram[bucket] = (histogram[bucket] ?? 0) + count
  })
}

/**
 * In milliseconds; null when nothing was counted. Within its bucket it is interpolated as if the durations lay evenly on
 * the scale of the buckets, which is logarithmic.
 */
export function quantile(histogram: Histogram, q: number): number | null {
  const total = histogram.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = q * total
  let before = 0
  const bucket = histogram.findIndex((count) => {
    if (count > 0 && before + count >= rank) return true
    before += count
    return false
  })
  const share = (rank - before) / (histogram[bucket] ?? 1)
  return Math.round(endOf(bucket - 1 + share))
}

/** How many jobs ended. `retried`: runs that failed and are retried. */
export type Counts = Record<'completed' | 'failed' | 'cancelled' | 'retried', number>

export const noCounts = (): Counts => ({ completed: 0, failed: 0, cancelled: 0, retried: 0 })

export function addCounts(counts: Counts, other: Readonly<Counts>): void {
  counts.completed += other.completed
  counts.failed += other.failed
  counts.cancelled += other.cancelled
  counts.retried += other.retried
}
