import { conditionsOf, type DatabasesUsed, type Watched } from '../conditions.ts'
import type { DatabaseName } from '../fill.ts'
import { median } from '../measure.ts'
import { type Chart, type Point, power, type Tone, toSvg } from '../plot.ts'
import { LIST_MS, STATS_MS } from '../reads/cases.ts'
import { count, isMet, markdown } from '../report.ts'
import { ALONE, TOGETHER } from './cases.ts'
import { BATCH, OPERATIONS, type Operation, type Sample } from './probe.ts'

type Where = {
  readonly database: DatabaseName
  readonly finished: number
  /** Of the case, and of the way in which jobs were claimed there. */
  readonly name: string
  readonly probe: string
}

export type Result = Where & {
  readonly operation: Operation
  readonly ms: { readonly median: number; readonly worst: number }
  /** The median of the rounds; null on SQLite. */
  readonly pages: number | null
}

export function resultOf(where: Where, { operation, ms, pages }: Sample): Result {
  return {
    ...where,
    operation,
    ms: { median: median(ms), worst: Math.max(...ms) },
    pages: pages.length ? median(pages) : null,
  }
}

/** What --json writes, and the documents are written from. */
export type ScaleRun = Watched & ScaleData

export interface ScaleData extends DatabasesUsed {
  readonly jobs: number
  readonly rounds: number
  /** How many jobs a claim takes and a settle ends. */
  readonly batch: number
  readonly results: readonly Result[]
}

const TITLES: Record<DatabaseName, string> = { postgres: 'Postgres', sqlite: 'SQLite' }
const titleOf = (operation: Operation) =>
  operation === 'claim' || operation === 'settle' ? `${operation} ${BATCH}` : operation

/** One table for each database and operation: a row for each case, a column for each number of finished jobs. */
export function textOf(run: ScaleRun): string {
  const { results, rounds } = run
  const rest = `medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`
  return [
    conditionsOf(run, run, rest),
    ...databasesOf(results).flatMap((database) =>
      OPERATIONS.flatMap((operation) => {
        const own = results.filter((r) => r.database === database && r.operation === operation)
        const what = database === 'postgres' ? 'pages · median (worst) ms' : 'median (worst) ms'
        return [`**${TITLES[database]}, ${titleOf(operation)}**: ${what}`, tableOf(own)]
      }),
    ),
  ].join('\n\n')
}

function tableOf(results: readonly Result[]): string {
  const sizes = [...new Set(results.map(({ finished }) => finished))]
  const rows = linesOf(results).map((line) => [
    line[0]?.probe ? `… ${line[0].probe}` : (line[0]?.name ?? ''),
    ...sizes.map((size) => {
      const found = line.find(({ finished }) => finished === size)
      return found ? cellOf(found) : ''
    }),
    ...verdictOf(line),
  ])
  return markdown(['beside', ...sizes.map((size) => `${count(size)} finished`), 'goal', 'met'], rows)
}

/** How many times the pages a claim or a settle may touch beside the most finished jobs: trees have more levels. */
const GROWTH = 2

/** Of a row: its goal, and whether the call met it beside the most finished jobs. */
function verdictOf(line: readonly Result[]): [goal: string, met: string] {
  const [first, last] = [line[0], line.at(-1)]
  if (!first || !last) return ['', '']
  switch (first.operation) {
    case 'claim':
    case 'settle': {
      const [unit, cost] =
        first.pages === null
          ? (['time', ({ ms }: Result) => ms.median] as const)
          : (['pages', ({ pages }: Result) => pages ?? Number.NaN] as const)
      const growth = cost(last) / cost(first)
      return [`${unit} ≤ ${GROWTH} × the first`, `${isMet(growth <= GROWTH)}, ${growth.toFixed(1)} ×`]
    }
    case 'list':
      return [`< ${LIST_MS} ms`, isMet(last.ms.median < LIST_MS)]
    case 'stats':
      return [`< ${STATS_MS} ms`, isMet(last.ms.median < STATS_MS)]
    default:
      return ['–', '']
  }
}

/** The results of each case and probe, by the number of finished jobs. */
function linesOf(results: readonly Result[]): Result[][] {
  const lines = new Map<string, Result[]>()
  for (const result of results) {
    const name = nameOf(result)
    lines.set(name, [...(lines.get(name) ?? []), result])
  }
  return [...lines.values()]
}

const nameOf = ({ name, probe }: Result) => (probe ? `${name}, ${probe}` : name)

function cellOf({ pages, ms }: Result): string {
  const time = `${ms.median.toFixed(1)} (${ms.worst.toFixed(1)})`
  return pages === null ? time : `${count(pages)} · ${time}`
}

export function plotOf({ results }: Pick<ScaleData, 'results'>): string {
  const charts = databasesOf(results).flatMap((database) => {
    const own = results.filter((result) => result.database === database)
    const charted = (unit: string, of: (result: Result) => number) =>
      OPERATIONS.map((operation) =>
        chartOf(`${TITLES[database]}: ${titleOf(operation)}, ${unit}`, own, operation, of),
      )
    return [
      ...(database === 'postgres' ? charted('pages', ({ pages }) => pages ?? Number.NaN) : []),
      ...charted('ms', ({ ms }) => ms.median),
    ]
  })
  const largest = Math.max(...results.map(({ finished }) => finished))
  return toSvg({
    title: `Pages and time of a call beside 10³ to ${power(largest)} finished jobs`,
    x: { label: 'finished jobs', isLog: true },
    y: { isLog: true },
    columns: 3,
    charts,
    legend: [
      { tone: 'first', text: ALONE },
      { tone: 'second', text: TOGETHER },
      { tone: 'quiet', text: 'each other case' },
    ],
  })
}

function chartOf(
  title: string,
  results: readonly Result[],
  operation: Operation,
  heightOf: (result: Result) => number,
): Chart {
  const lines = linesOf(results.filter((result) => result.operation === operation))
  const series = lines.flatMap((line) => {
    const [first] = line
    if (!first) return []
    const points = line.map((result): Point => [result.finished, heightOf(result)])
    return [{ name: nameOf(first), tone: toneOf(nameOf(first)), points }]
  })
  return { title, series }
}

function toneOf(name: string): Tone {
  if (name === ALONE) return 'first'
  return name === TOGETHER ? 'second' : 'quiet'
}

function databasesOf(results: readonly Result[]): DatabaseName[] {
  return [...new Set(results.map(({ database }) => database))]
}
