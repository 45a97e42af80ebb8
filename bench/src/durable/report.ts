import { conditionsOf, type DatabasesUsed, type Watched } from '../conditions.ts'
import { median, quantile } from '../measure.ts'
import { count, isMet, markdown } from '../report.ts'
import type { DatabaseName } from './contender.ts'
import { MANY_STEPS, type Measured } from './measurements.ts'

/** What --json writes, and the documents are written from. */
export type DurableRun = Watched & DurableData

export interface DurableData extends DatabasesUsed {
  readonly rounds: number
  readonly rows: readonly Row[]
}

/** What was measured of a contender. */
export interface Row {
  readonly name: string
  readonly database: DatabaseName
  readonly version: string
  readonly settings: string
  readonly rounds: readonly Measured[]
}

/** For a run that repeats a thousand steps. */
const RESUME_MS = 20
/** How much longer a step may take after a thousand than at the start. */
const TOLERANCE = 0.1

const NAMES: Readonly<Record<string, string>> = { oncue: 'Oncue', dbos: 'DBOS' }
const DATABASES: Record<DatabaseName, string> = { postgres: 'Postgres', sqlite: 'SQLite' }

interface Line {
  readonly title: string
  readonly of: (rounds: readonly Measured[]) => number
  readonly isRate?: true
  /** Beside being ahead of DBOS, on each database. */
  readonly goal?: { readonly text: string; isMet(rounds: readonly Measured[]): boolean }
}

const at =
  (share: number, of: (measured: Measured) => readonly number[]) =>
  (rounds: readonly Measured[]): number =>
    quantile(rounds.flatMap(of), share)

const early = at(0.5, (one) => one.early)
const late = at(0.5, (one) => one.late)
const resume = at(0.5, (one) => one.resume)
const STEPS = count(MANY_STEPS)

const LINES: readonly Line[] = [
  {
    title: 'steps per second, 50 workflows at once',
    of: (rounds) => median(rounds.map(({ stepsPerSecond }) => stepsPerSecond)),
    isRate: true,
  },
  { title: 'start to first step, p50 ms', of: at(0.5, (one) => one.firstStep) },
  { title: 'step to step, from step 1, p50 ms', of: early },
  { title: '… p99', of: at(0.99, (one) => one.early) },
  {
    title: `step to step, from step ${STEPS}, p50 ms`,
    of: late,
    goal: {
      text: `≤ ${Math.round((1 + TOLERANCE) * 100)}% of step 1`,
      isMet: (rounds) => late(rounds) <= early(rounds) * (1 + TOLERANCE),
    },
  },
  { title: '… p99', of: at(0.99, (one) => one.late) },
  {
    title: `resume after ${STEPS} steps, p50 ms`,
    of: resume,
    goal: { text: `≤ ${RESUME_MS} ms`, isMet: (rounds) => resume(rounds) <= RESUME_MS },
  },
  { title: 'signal to next step, p50 ms', of: at(0.5, (one) => one.signal) },
]

export function textOf(run: DurableRun): string {
  const { rounds, rows } = run
  const own = rows.filter(({ name }) => name === 'oncue')
  const other = rows.find(({ name }) => name === 'dbos')
  const beside = own.find(({ database }) => database === other?.database)
  const titleOf = ({ name, database }: Row) => `${NAMES[name] ?? name}, ${DATABASES[database]}`
  const head = [
    '',
    ...rows.map(titleOf),
    'ahead of DBOS',
    'goal',
    ...own.map(({ database }) => `met, ${DATABASES[database]}`),
  ]
  const lines = LINES.map(({ title, of, isRate, goal }) => [
    title,
    ...rows.map(({ rounds }) => (isRate ? count(of(rounds)) : of(rounds).toFixed(1))),
    beside && other
      ? isMet(isRate ? of(beside.rounds) > of(other.rounds) : of(beside.rounds) < of(other.rounds))
      : '–',
    goal?.text ?? '',
    ...own.map(({ rounds }) => (goal ? isMet(goal.isMet(rounds)) : '')),
  ])
  return [
    conditionsOf(run, run, `${rounds} ${rounds === 1 ? 'round' : 'rounds'}`),
    rows.map((row) => `- **${titleOf(row)}** ${row.version}: ${row.settings}.`).join('\n'),
    markdown(head, lines),
  ].join('\n\n')
}
