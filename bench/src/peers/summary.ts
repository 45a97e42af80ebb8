import type { Conditions } from '../conditions.ts'
import { median } from '../measure.ts'
import type { Cell, Sample } from './cell.ts'
import type { DatabaseName } from './contender.ts'

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

const METRICS = [
  'enqueuePerSecond',
  'drainPerSecond',
  'serverCpuMicros',
  'workerCpuMicros',
  'enqueueWalBytes',
  'drainWalBytes',
] as const
type Metric = (typeof METRICS)[number]

/** One cell over all rounds. */
export interface Row extends Cell, Readonly<Record<Metric, Spread | null>> {
  readonly wrongRuns: number
}

/** What --json writes, and the documents are written from. */
export interface PeersRun extends Conditions {
  readonly postgres: { readonly version: string; readonly settings: Readonly<Record<string, string>> } | null
  readonly rounds: number
  readonly contenders: readonly {
    readonly id: string
    readonly name: string
    readonly database: DatabaseName
    readonly version: string
    readonly settings: string
    readonly keeps: string
  }[]
  readonly samples: readonly Sample[]
  readonly rows: readonly Row[]
  /** Cells that ended with an error. */
  readonly failures: readonly string[]
}

export const keyOf = ({ contender, shape, size, processes }: Cell) =>
  [contender, shape, size, processes].join(' ')

/** In the order in which the cells came first. WAL is measured in rounds of its own, so a sample may lack the rest. */
export function summarise(samples: readonly Sample[]): Row[] {
  const groups = new Map<string, Sample[]>()
  for (const sample of samples) {
    const group = groups.get(keyOf(sample))
    if (group) group.push(sample)
    else groups.set(keyOf(sample), [sample])
  }
  return [...groups.values()].map(rowOf)
}

function rowOf(samples: readonly Sample[]): Row {
  const [{ contender, shape, size, jobs, processes }] = samples as readonly [Sample]
  const spreads = Object.fromEntries(
    METRICS.map((metric) => [metric, spreadOf(samples.flatMap((sample) => sample[metric] ?? []))]),
  ) as Record<Metric, Spread | null>
  const wrongRuns = samples.reduce((sum, sample) => sum + sample.wrongRuns, 0)
  return { contender, shape, size, jobs, processes, ...spreads, wrongRuns }
}

function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

/** Oncue's speed as a share of the other's: taken within each round, because other load affects both. */
export function ratioOf(
  samples: readonly Sample[],
  oncue: Cell,
  other: Cell,
  value: (sample: Sample) => number | null,
): number | null {
  const ratios = samples
    .filter((sample) => keyOf(sample) === keyOf(oncue))
    .flatMap((mine) => {
      const theirs = samples.find(
        ({ round, ...cell }) => round === mine.round && keyOf(cell) === keyOf(other),
      )
      const pair = [value(mine), theirs ? value(theirs) : null] as const
      return pair[0] === null || pair[1] === null ? [] : [pair[0] / pair[1]]
    })
  return ratios.length === 0 ? null : median(ratios)
}
