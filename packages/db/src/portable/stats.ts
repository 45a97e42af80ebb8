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

/** How many deltas one roll-up takes. The transaction stays short; callers repeat the call while more are left. */
export const ROLL_UP_LIMIT = 5_000

/** For how long minutes are kept; totals are kept for ever. */
const KEPT_MS = 90 * 24 * 60 * 60 * 1_000

/** Minutes before this one are deleted when these deltas are added. */
export function keptSince(deltas: readonly Delta[]): Date {
  return new Date(Math.max(...deltas.map((delta) => delta.minute.getTime())) - KEPT_MS)
}

/** What ended in one queue and topic. `retried`: runs that failed and are retried. */
type Counts = Record<'completed' | 'failed' | 'cancelled' | 'retried', number>
type Counted = Counts & { readonly queue: string; readonly topic: string }

export const noCounts = (): Counts => ({ completed: 0, failed: 0, cancelled: 0, retried: 0 })

export function addCounts(counts: Counts, other: Readonly<Counts>): void {
  counts.completed += other.completed
  counts.failed += other.failed
  counts.cancelled += other.cancelled
  counts.retried += other.retried
}

/**
 * A change of the counters that a settle, or an action that removed finished jobs, left to be rolled up.
 * Durations are letters.
 */
export type Delta = Counted & { readonly minute: Date; waits: string; runs: string; runMs: number }

/** What happened in one minute: requeueing or pruning a job later does not change it. */
export type MinuteRow = Counted & {
  readonly minute: Date
  readonly waits: Histogram
  readonly runs: Histogram
}

/** What is stored now, as a change. */
export type TotalRow = Omit<Counted, 'retried'> & { runs: number; runMs: number }

type Sums = { readonly minutes: MinuteRow[]; readonly totals: TotalRow[] }

export function sumUp(deltas: readonly Delta[]): Sums {
  const minutes = new Map<string, MinuteRow>()
  const totals = new Map<string, TotalRow>()
  for (const delta of deltas) {
    addToTotal(totals, delta)
    const { completed, failed, cancelled, retried } = delta
    if (completed > 0 || failed > 0 || cancelled > 0 || retried > 0) addToMinute(minutes, delta)
  }
  return { minutes: [...minutes.values()], totals: [...totals.values()] }
}

function addToTotal(totals: Map<string, TotalRow>, delta: Delta): void {
  const { queue, topic } = delta
  const total = at(totals, [queue, topic], () => {
    return { queue, topic, completed: 0, failed: 0, cancelled: 0, runs: 0, runMs: 0 }
  })
  total.completed += delta.completed
  total.failed += delta.failed
  total.cancelled += delta.cancelled
  total.runs += delta.runs.length
  total.runMs += delta.runMs
}

function addToMinute(minutes: Map<string, MinuteRow>, delta: Delta): void {
  const { minute, queue, topic } = delta
  const row = at(minutes, [minute.getTime(), queue, topic], () => {
    return { minute, queue, topic, ...noCounts(), waits: emptyHistogram(), runs: emptyHistogram() }
  })
  addCounts(row, delta)
  addLetters(row.waits, delta.waits)
  addLetters(row.runs, delta.runs)
}

/** Adds the stored counts to the minutes that are about to replace them. */
export function addKnown(minutes: readonly MinuteRow[], known: readonly MinuteRow[]): void {
  const rows = new Map(minutes.map((row) => [keyOf(row), row]))
  for (const old of known) {
    const row = rows.get(keyOf(old))
    if (!row) continue
    addCounts(row, old)
    addHistogram(row.waits, old.waits)
    addHistogram(row.runs, old.runs)
  }
}

/** As it is stored: without the empty buckets at the end. */
export function histogramJson(histogram: Histogram): number[] {
  return histogram.slice(0, 1 + histogram.findLastIndex((count) => count > 0))
}

const keyOf = ({ minute, queue, topic }: MinuteRow) => JSON.stringify([minute.getTime(), queue, topic])

function at<T>(map: Map<string, T>, key: unknown[], make: () => T): T {
  const text = JSON.stringify(key)
  const found = map.get(text) ?? make()
  map.set(text, found)
  return found
}
