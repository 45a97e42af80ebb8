import { conditionsOf, type PostgresUsed, type Watched } from '../conditions.ts'
import { type Chart, type Point, type Tone, toSvg } from '../plot.ts'
import { count, isMet, markdown, percent } from '../report.ts'
import type { Load } from './run.ts'
import {
  type Measure,
  type Rates,
  type Run,
  ratesOf,
  type Sample,
  type Sizes,
  TOLERANCE,
  verdictOf,
} from './verdict.ts'

/** What --json writes, and the documents are written from. */
export type SoakRun = Watched & SoakData

/** Rates in place of hundreds of thousands of times. */
export interface SoakData extends Load {
  readonly postgres: PostgresUsed
  readonly tolerance: number
  readonly runs: readonly (Pick<Run, 'name' | 'enqueued' | 'settled'> & {
    readonly whole: Rates
    readonly verdict: ReturnType<typeof verdictOf>
    /** Of a tenth of the run each. */
    readonly overTime: readonly Moment[]
    readonly samples: readonly Moment[]
  })[]
}

/** At its end, and since the one before it. */
type Moment = Rates & Sizes & { readonly atMs: number }

/** How many rows the table over time has. */
const ROWS = 10
const MB = 1_000_000

const MEASURES: readonly { readonly measure: Measure; readonly title: string }[] = [
  { measure: 'jobsPerSecond', title: 'jobs/s' },
  { measure: 'p50', title: 'pick-up p50, ms' },
  { measure: 'p99', title: 'pick-up p99, ms' },
]

const SIZES: readonly { readonly title: string; readonly of: (at: Moment) => number }[] = [
  { title: 'jobs table, MB', of: ({ jobsTable }) => jobsTable / MB },
  { title: 'jobs indexes, MB', of: ({ jobsIndexes }) => jobsIndexes / MB },
  { title: 'dead rows of jobs', of: ({ deadRows }) => deadRows },
  { title: 'history table, MB', of: ({ historyTable }) => historyTable / MB },
  { title: 'history indexes, MB', of: ({ historyIndexes }) => historyIndexes / MB },
]

export function textOf(run: SoakRun): string {
  const { minutes, rate, runs, postgres } = run
  const rest = `${count(rate)} jobs/s for ${minutes} min, one worker process`
  return [
    conditionsOf(run, { postgres }, rest),
    verdictTable(run),
    ...runs.flatMap(({ name, overTime }) => [`Over time, ${name}:`, timeTable(overTime)]),
  ].join('\n\n')
}

function verdictTable({ runs, tolerance }: SoakData): string {
  const rows = runs.flatMap(({ name, verdict, whole, settled, enqueued }) => [
    ...MEASURES.map(({ measure, title }) => {
      const { first, last, isWithin } = verdict[measure]
      const values = [whole[measure], first, last].map(number)
      return [
        `${name}: ${title}`,
        ...values,
        percent(last / first),
        goalOf(measure, tolerance),
        isMet(isWithin),
      ]
    }),
    [
      `${name}: jobs settled`,
      count(settled),
      '',
      '',
      '',
      `all ${count(enqueued)}`,
      isMet(settled === enqueued),
    ],
  ])
  return markdown(['', 'whole run', 'first fifth', 'last fifth', 'of the first', 'goal', 'met'], rows)
}

const goalOf = (measure: Measure, tolerance: number) =>
  measure === 'jobsPerSecond' ? `≥ ${percent(1 - tolerance)}` : `≤ ${percent(1 + tolerance)}`

function timeTable(moments: readonly Moment[]): string {
  const rows = moments.map((at) => [
    minutesOf(at).toFixed(2),
    ...MEASURES.map(({ measure }) => number(at[measure])),
    ...SIZES.map(({ of }) => number(of(at))),
  ])
  return markdown(['min', ...MEASURES.map(({ title }) => title), ...SIZES.map(({ title }) => title)], rows)
}

export function plotOf({ minutes, rate, runs }: SoakData): string {
  const tones: readonly Tone[] = ['first', 'second']
  const tone = (n: number) => tones[n] ?? 'quiet'
  const chartOf = (title: string, of: (at: Moment) => number): Chart => ({
    title,
    series: runs.map(({ name, samples }, n) => ({
      name,
      tone: tone(n),
      points: samples.map((at): Point => [minutesOf(at), of(at)]),
    })),
  })
  return toSvg({
    title: `${count(rate)} jobs/s for ${minutes} min, drained by one worker process`,
    x: { label: 'minutes', isLog: false },
    y: { isLog: false },
    columns: 3,
    charts: [
      ...MEASURES.map(({ measure, title }) => chartOf(title, (at) => at[measure])),
      ...SIZES.map(({ title, of }) => chartOf(title, of)),
    ],
    legend: runs.map(({ name }, n) => ({ tone: tone(n), text: name })),
  })
}

export function dataOf(load: Load, runs: readonly [Run, ...Run[]]): SoakData {
  return {
    ...load,
    postgres: runs[0].postgres,
    tolerance: TOLERANCE,
    runs: runs.map(({ name, enqueued, settled, samples }) => ({
      ...{ name, enqueued, settled },
      whole: ratesOf(samples),
      verdict: verdictOf(samples),
      overTime: partsOf(samples, Math.max(1, Math.ceil(samples.length / ROWS))).flatMap(momentOf),
      samples: samples.flatMap((sample) => momentOf([sample])),
    })),
  }
}

const partsOf = (samples: readonly Sample[], length: number) =>
  Array.from({ length: Math.ceil(samples.length / length) }, (_, n) =>
    samples.slice(n * length, (n + 1) * length),
  )

function momentOf(samples: readonly Sample[]): Moment[] {
  const last = samples.at(-1)
  if (!last) return []
  const { pickUps, seconds, ...sizes } = last
  return [{ ...sizes, ...ratesOf(samples) }]
}

const minutesOf = ({ atMs }: Moment) => atMs / 60_000

const number = (value: number) => (value < 100 ? value.toFixed(1) : count(value))
