import type { PostgresUsed } from '../conditions.ts'
import { quantile } from '../measure.ts'

/** In bytes; dead rows of the live table as Postgres estimates them. */
export interface Sizes {
  readonly jobsTable: number
  readonly jobsIndexes: number
  readonly historyTable: number
  readonly historyIndexes: number
  readonly deadRows: number
}

export interface Sample extends Sizes {
  /** Since the first sample began. */
  readonly atMs: number
  /** What it covers. */
  readonly seconds: number
  /** Milliseconds from the call of enqueue to the start of the handler, of each run that started. */
  readonly pickUps: readonly number[]
}

export interface Run {
  readonly name: string
  readonly postgres: PostgresUsed
  readonly samples: readonly Sample[]
  readonly enqueued: number
  /** How many of them were in history at the end. */
  readonly settled: number
}

export interface Rates {
  readonly jobsPerSecond: number
  readonly p50: number
  readonly p99: number
}

export function ratesOf(samples: readonly Pick<Sample, 'seconds' | 'pickUps'>[]): Rates {
  const pickUps = samples.flatMap((sample) => sample.pickUps)
  const seconds = samples.reduce((sum, sample) => sum + sample.seconds, 0)
  return {
    jobsPerSecond: pickUps.length / seconds,
    p50: quantile(pickUps, 0.5),
    p99: quantile(pickUps, 0.99),
  }
}

/** How much worse the last fifth of a run may be than its first. */
export const TOLERANCE = 0.2
const FIFTH = 5

export type Measure = keyof Rates
export type Verdict = { readonly first: number; readonly last: number; readonly isWithin: boolean }

/** Compares the ends of a run: what grows steadily shows there, however slowly. */
export function verdictOf(samples: readonly Sample[]): Record<Measure, Verdict> {
  const length = Math.max(1, Math.floor(samples.length / FIFTH))
  const first = ratesOf(samples.slice(0, length))
  const last = ratesOf(samples.slice(-length))
  const slower = (measure: Measure): Verdict => ({
    first: first[measure],
    last: last[measure],
    isWithin: last[measure] <= first[measure] * (1 + TOLERANCE),
  })
  return {
    jobsPerSecond: {
      first: first.jobsPerSecond,
      last: last.jobsPerSecond,
      isWithin: last.jobsPerSecond >= first.jobsPerSecond * (1 - TOLERANCE),
    },
    p50: slower('p50'),
    p99: slower('p99'),
  }
}
