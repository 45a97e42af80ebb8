import { type Chart, type Point, type Tone, toSvg } from '../plot.ts'
import { count, markdown, percent } from '../report.ts'
import type { Load } from './run.ts'
import { type Measure, type Run, ratesOf, type Sample, TOLERANCE, verdictOf } from './verdict.ts'

/** How many rows the table over time has. */
const ROWS = 10
const MB = 1_000_000

const MEASURES: readonly { readonly measure: Measure; readonly title: string }[] = [
  { measure: 'jobsPerSecond', title: 'jobs/s' },
  { measure: 'p50', title: 'pick-up p50, ms' },
  { measure: 'p99', title: 'pick-up p99, ms' },
]

const SIZES: readonly { readonly title: string; readonly of: (sample: Sample) => number }[] = [
  { title: 'jobs table, MB', of: ({ jobsTable }) => jobsTable / MB },
  { title: 'jobs indexes, MB', of: ({ jobsIndexes }) => jobsIndexes / MB },
  { title: 'dead rows of jobs', of: ({ deadRows }) => deadRows },
  { title: 'history table, MB', of: ({ historyTable }) => historyTable / MB },
  { title: 'history indexes, MB', of: ({ historyIndexes }) => historyIndexes / MB },
]

export function textOf({ minutes, rate }: Load, runs: readonly Run[]): string {
  const [first] = runs
  return [
    `Postgres ${first?.version ?? ''}, ${count(rate)} jobs/s for ${minutes} min, one worker process\n`,
    verdictTable(runs),
    ...runs.flatMap((run) => [`${run.name}, over time\n`, timeTable(run)]),
  ].join('\n')
}

function verdictTable(runs: readonly Run[]): string {
  const rows = runs.flatMap((run) => {
    const verdict = verdictOf(run.samples)
    return [
      ...MEASURES.map(({ measure, title }) => {
        const { first, last, isWithin } = verdict[measure]
        return [
          run.name,
          title,
          number(ratesOf(run.samples)[measure]),
          number(first),
          number(last),
          percent(last / first),
          isWithin ? 'yes' : 'NO',
        ]
      }),
      [
        run.name,
        'jobs settled',
        count(run.settled),
        '',
        '',
        '',
        run.settled === run.enqueued ? 'all' : `NO: of ${count(run.enqueued)}`,
      ],
    ]
  })
  const head = [
    '',
    'measured',
    'whole run',
    'first fifth',
    'last fifth',
    'of the first',
    `within ${percent(TOLERANCE)}`,
  ]
  return markdown(head, rows)
}

function timeTable({ samples }: Run): string {
  const step = Math.max(1, Math.ceil(samples.length / ROWS))
  const rows = []
  for (let at = 0; at < samples.length; at += step) {
    const part = samples.slice(at, at + step)
    const rates = ratesOf(part)
    const last = part.at(-1)
    if (!last) continue
    rows.push([
      minutesOf(last).toFixed(2),
      ...MEASURES.map(({ measure }) => number(rates[measure])),
      ...SIZES.map(({ of }) => number(of(last))),
    ])
  }
  return markdown(['min', ...MEASURES.map(({ title }) => title), ...SIZES.map(({ title }) => title)], rows)
}

export function plotOf({ minutes, rate }: Load, runs: readonly Run[]): string {
  const tones: readonly Tone[] = ['first', 'second']
  const tone = (n: number) => tones[n] ?? 'quiet'
  const chartOf = (title: string, of: (sample: Sample) => number): Chart => ({
    title,
    series: runs.map(({ name, samples }, n) => ({
      name,
      tone: tone(n),
      points: samples.map((sample): Point => [minutesOf(sample), of(sample)]),
    })),
  })
  return toSvg({
    title: `${count(rate)} jobs/s for ${minutes} min, drained by one worker process`,
    x: { label: 'minutes', isLog: false },
    y: { isLog: false },
    columns: 3,
    charts: [
      ...MEASURES.map(({ measure, title }) => chartOf(title, (sample) => ratesOf([sample])[measure])),
      ...SIZES.map(({ title, of }) => chartOf(title, of)),
    ],
    legend: runs.map(({ name }, n) => ({ tone: tone(n), text: name })),
  })
}

/** For --json: samples with their rates in place of hundreds of thousands of times. */
export function dataOf(load: Load, runs: readonly Run[]): unknown {
  return {
    ...load,
    tolerance: TOLERANCE,
    runs: runs.map(({ samples, ...run }) => ({
      ...run,
      whole: ratesOf(samples),
      verdict: verdictOf(samples),
      samples: samples.map(({ pickUps, ...sample }) => ({
        ...sample,
        ...ratesOf([{ pickUps, seconds: sample.seconds }]),
      })),
    })),
  }
}

const minutesOf = ({ atMs }: Sample) => atMs / 60_000

const number = (value: number) => (value < 100 ? value.toFixed(1) : count(value))
