import { count, markdown, percent } from '../report.ts'
import type { Cell, Sample } from './cell.ts'
import type { DatabaseName } from './contender.ts'
import { jobsOf, processesText, SHAPES, type ShapeName } from './shapes.ts'
import { keyOf, type PeersRun, type Row, ratioOf, type Spread } from './summary.ts'

const NONE = '–'
const DATABASES: Record<DatabaseName, string> = { postgres: 'Postgres', sqlite: 'SQLite' }

/** Everything, for bench/README.md and the terminal. */
export function renderAll(run: PeersRun): string {
  return [
    conditionsOf(run),
    run.contenders.map(describe).join('\n'),
    ...fieldsOf(run).flatMap((field) => [drainTable(run, field), costTable(run, field)]),
    ...run.failures.map((failure) => `Failed: ${failure}`),
  ].join('\n\n')
}

/** Oncue beside the others with no-op jobs, for the README. */
export function renderSummary(run: PeersRun): string {
  const tables = fieldsOf(run).map((field) => summaryTable(run, field))
  return [
    `Oncue as a share of the other: more jobs/s and less CPU are better. ${conditionsOf(run)}`,
    ...tables,
  ].join('\n\n')
}

function describe({ name, database, version, settings, keeps }: PeersRun['contenders'][number]): string {
  const title = [name, version, `on ${DATABASES[database]}`].filter(Boolean).join(' ')
  return `- **${title}**: ${settings}. Keeps ${keeps}.`
}

/** A database and a size of the run. */
interface Field {
  readonly database: DatabaseName
  readonly size: number
  readonly processes: readonly number[]
  readonly shapes: readonly ShapeName[]
}

function fieldsOf({ rows, contenders }: PeersRun): Field[] {
  const sizes = distinct(rows.map(({ size }) => size)).toSorted((a, b) => a - b)
  return sizes.flatMap((size) =>
    (['postgres', 'sqlite'] as const).flatMap((database) => {
      const own = rows.filter((row) => row.size === size && row.contender.startsWith(`${database}/`))
      if (own.length === 0 || !contenders.some((contender) => contender.database === database)) return []
      const processes = distinct(own.map((row) => row.processes)).toSorted((a, b) => a - b)
      return [{ database, size, processes, shapes: distinct(own.map(({ shape }) => shape)) }]
    }),
  )
}

function conditionsOf({ when, machine, node, postgres, rounds }: PeersRun): string {
  const server = postgres ? `Postgres ${postgres.version} with default durability, ` : ''
  return (
    `${when.slice(0, 10)}: ${server}Node ${node}, ${machine.cores} cores (${machine.cpu}), ` +
    `medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}.`
  )
}

function drainTable(run: PeersRun, field: Field): string {
  const { database, size, processes } = field
  const head = [
    `${DATABASES[database]}, ${count(size)} jobs`,
    ...processes.map((n) => `jobs/s, ${processesText(n)}`),
    ...processes.map((n) => `Oncue beside it, ${n}`),
  ]
  const rows = cellsOf(run, field, ({ shape, name, cell }) => [
    label(run, cell, `${SHAPES[shape].title}: ${name}`),
    ...processes.map((n) => spread(rowFor(run, { ...cell, processes: n })?.drainPerSecond)),
    ...processes.map((n) => beside(run, { ...cell, processes: n }, ({ drainPerSecond }) => drainPerSecond)),
  ])
  return markdown(head, rows)
}

function costTable(run: PeersRun, field: Field): string {
  const { database, size, processes } = field
  const head = [
    `${DATABASES[database]}, ${count(size)} jobs`,
    ...processes.map((n) => `CPU µs/job, server + workers, ${processesText(n)}`),
    'bulk enqueue, jobs/s',
    'WAL bytes/job, enqueue + drain',
  ]
  const rows = cellsOf(run, field, ({ shape, name, cell }) => {
    const first = rowFor(run, cell)
    return [
      `${SHAPES[shape].title}: ${name}`,
      ...processes.map((n) => cpu(rowFor(run, { ...cell, processes: n }))),
      spread(first?.enqueuePerSecond),
      both(first?.enqueueWalBytes, first?.drainWalBytes, count),
    ]
  })
  return markdown(head, rows)
}

function summaryTable(run: PeersRun, field: Field): string {
  const { database, size, processes } = field
  const head = [
    `${DATABASES[database]}, ${count(size)} no-op jobs`,
    ...processes.map((n) => `jobs/s, ${processesText(n)}`),
    'CPU per job',
    'bulk enqueue',
  ]
  const rows = cellsOf(run, { ...field, shapes: ['no-op'] }, ({ name, version, cell }) =>
    name === 'Oncue'
      ? []
      : [
          label(run, cell, [name, version].filter(Boolean).join(' ')),
          ...processes.map((n) => beside(run, { ...cell, processes: n }, (sample) => sample.drainPerSecond)),
          beside(run, cell, totalCpu),
          beside(run, cell, ({ enqueuePerSecond }) => enqueuePerSecond),
        ],
  ).filter((row) => row.length > 0)
  return markdown(head, rows)
}

interface TableCell {
  readonly shape: ShapeName
  readonly name: string
  readonly version: string
  /** With the fewest processes. */
  readonly cell: Cell
}

/** One row per shape and contender, also where a contender lacks the shape. */
function cellsOf(
  { contenders }: PeersRun,
  { database, size, processes, shapes }: Field,
  rowOf: (cell: TableCell) => string[],
): string[][] {
  const [fewest = 1] = processes
  return shapes.flatMap((shape) =>
    contenders
      .filter((contender) => contender.database === database)
      .map(({ id, name, version }) => {
        const cell = { contender: id, shape, size, jobs: jobsOf(shape, size), processes: fewest }
        return rowOf({ shape, name, version, cell })
      }),
  )
}

function rowFor({ rows }: PeersRun, cell: Cell): Row | undefined {
  return rows.find((row) => keyOf(row) === keyOf(cell))
}

/** A contender that lost jobs, or ran them twice, is marked. */
function label(run: PeersRun, cell: Cell, name: string): string {
  const wrong = run.rows
    .filter(
      ({ contender, shape, size }) =>
        contender === cell.contender && shape === cell.shape && size === cell.size,
    )
    .reduce((sum, row) => sum + row.wrongRuns, 0)
  return wrong === 0 ? name : `${name} (WRONG: ${count(wrong)} jobs did not run as often as they should)`
}

function beside(run: PeersRun, cell: Cell, value: (sample: Sample) => number | null): string {
  const [database] = cell.contender.split('/')
  const oncue = { ...cell, contender: `${database}/Oncue` }
  if (oncue.contender === cell.contender) return ''
  const ratio = ratioOf(run.samples, oncue, cell, value)
  return ratio === null ? NONE : percent(ratio)
}

function totalCpu({ serverCpuMicros, workerCpuMicros }: Sample): number | null {
  return workerCpuMicros === null ? null : (serverCpuMicros ?? 0) + workerCpuMicros
}

function spread(values: Spread | null | undefined): string {
  if (!values) return NONE
  const { median, min, max } = values
  return min === max ? count(median) : `${count(median)} (${count(min)}–${count(max)})`
}

function cpu(row: Row | undefined): string {
  const micros = (value: number) => value.toFixed(1)
  if (!row?.workerCpuMicros) return NONE
  return row.serverCpuMicros
    ? both(row.serverCpuMicros, row.workerCpuMicros, micros)
    : micros(row.workerCpuMicros.median)
}

function both(
  first: Spread | null | undefined,
  second: Spread | null | undefined,
  format: (value: number) => string,
): string {
  return first && second ? `${format(first.median)} + ${format(second.median)}` : NONE
}

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)]
