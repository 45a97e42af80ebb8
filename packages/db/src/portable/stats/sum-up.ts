import { addHistogram, addLetters, emptyHistogram, type Histogram } from './histogram.ts'

/** How many notes one roll-up takes. The transaction stays short; whoever has more calls again. */
export const ROLL_UP_LIMIT = 5_000

/** For how long minutes are kept; totals are kept for ever. */
const KEPT_MS = 90 * 24 * 60 * 60 * 1_000

/** The minutes before this one go, when these notes are added. */
export function keptSince(deltas: readonly Delta[]): Date {
  return new Date(Math.max(...deltas.map((delta) => delta.minute.getTime())) - KEPT_MS)
}

/** A note that a settle left, or somebody who took finished jobs away. */
export type Delta = {
  readonly minute: Date
  readonly queue: string
  readonly topic: string
  readonly completed: number
  readonly failed: number
  readonly cancelled: number
  /** Runs that failed while their jobs go on. */
  readonly retried: number
  readonly waits: string
  readonly runs: string
  readonly runMs: number
}

/** What happened in one minute: requeueing or pruning a job does not unhappen it. */
export type MinuteRow = {
  readonly minute: Date
  readonly queue: string
  readonly topic: string
  completed: number
  failed: number
  cancelled: number
  retried: number
  readonly waits: Histogram
  readonly runs: Histogram
}

/** What is stored now, as a change. */
export type TotalRow = {
  readonly queue: string
  readonly topic: string
  completed: number
  failed: number
  cancelled: number
  runs: number
  runMs: number
}

export type Sums = { readonly minutes: MinuteRow[]; readonly totals: TotalRow[] }

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
    const counts = { completed: 0, failed: 0, cancelled: 0, retried: 0 }
    return { minute, queue, topic, ...counts, waits: emptyHistogram(), runs: emptyHistogram() }
  })
  row.completed += delta.completed
  row.failed += delta.failed
  row.cancelled += delta.cancelled
  row.retried += delta.retried
  addLetters(row.waits, delta.waits)
  addLetters(row.runs, delta.runs)
}

/** Adds what is there already to the minutes that are about to be written over it. */
export function addKnown(minutes: readonly MinuteRow[], known: readonly MinuteRow[]): void {
  const rows = new Map(minutes.map((row) => [keyOf(row), row]))
  for (const old of known) {
    const row = rows.get(keyOf(old))
    if (!row) continue
    row.completed += old.completed
    row.failed += old.failed
    row.cancelled += old.cancelled
    row.retried += old.retried
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
