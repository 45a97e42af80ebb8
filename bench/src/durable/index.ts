import { cpus, loadavg } from 'node:os'
import { createSqliteDatabase } from '@oncue/db/testing'
import type { Benchmark, BenchmarkOptions } from '../benchmark.ts'
import { install } from '../install.ts'
import { median, quantile } from '../measure.ts'
import { count, markdown, progress, table } from '../report.ts'
import { openPostgres } from '../server.ts'
import type { Contender } from './contender.ts'
import { DBOS_INSTALLATION } from './contenders/dbos.ts'
import { CONTENDERS } from './contenders/index.ts'
import { MANY_STEPS, type Measured } from './measurements.ts'
import { measureInProcess } from './protocol.ts'

const ROUNDS = 3
/** For a run that repeats a thousand steps. */
const RESUME_GOAL_MS = 20

interface Row {
  readonly name: string
  readonly database: string
  readonly version: string
  readonly settings: string
  readonly rounds: readonly Measured[]
}

export const durable: Benchmark = {
  summary: 'steps, resumes and signals of durable jobs, beside DBOS Transact',
  async run(options) {
    const chosen = choose(options)
    if (chosen.some(({ name }) => name === 'dbos')) await install(DBOS_INSTALLATION)
    const [load = 0] = loadavg()
    const rows: Row[] = []
    let postgres: string | undefined
    for (const database of ['postgres', 'sqlite'] as const) {
      const own = chosen.filter((contender) => contender.database === database)
      if (own.length === 0) continue
      const opened = database === 'postgres' ? await openPostgres() : await ownSqlite()
      if (database === 'postgres') postgres = opened.version
      try {
        rows.push(...(await measureAll(own, opened.url, options.rounds ?? ROUNDS)))
      } finally {
        await opened.close()
      }
    }
    const data = {
      when: new Date().toISOString(),
      machine: { cpu: cpus()[0]?.model ?? '', cores: cpus().length, loadAtStart: Number(load.toFixed(1)) },
      node: process.version,
      postgres,
      rows,
    }
    const head = ['', ...rows.map(({ name, database }) => `${name}, ${database}`)]
    const lines = linesOf(rows)
    const where = `${data.machine.cores} cores, load ${data.machine.loadAtStart} at the start`
    const text = `${table(head, lines)}\n${where}\n\n${markdown(head, lines)}`
    return { data, text }
  },
}

function choose({ only, database }: BenchmarkOptions): Contender[] {
  const chosen = CONTENDERS.filter(
    (contender) => (!only || only.includes(contender.name)) && (!database || contender.database === database),
  )
  if (chosen.length > 0) return chosen
  const names = CONTENDERS.map(({ name, database }) => `${name} on ${database}`).join(', ')
  throw new Error(`No contender is left. There are ${names}`)
}

async function ownSqlite() {
  const { url, drop } = await createSqliteDatabase()
  return { url, version: undefined, close: drop }
}

/** Rounds alternate, so that a busy minute of the machine meets all contenders. */
async function measureAll(contenders: readonly Contender[], url: string, rounds: number): Promise<Row[]> {
  const measured = new Map<Contender, Measured[]>(contenders.map((contender) => [contender, []]))
  for (let round = 1; round <= rounds; round++) {
    const order = round % 2 === 0 ? contenders.toReversed() : contenders
    for (const contender of order) {
      const result = await measureInProcess(contender, url, round)
      measured.get(contender)?.push(result)
      progress(
        `durable: round ${round} of ${rounds}, ${contender.name} on ${contender.database}: ${count(result.stepsPerSecond)} steps/s`,
      )
    }
  }
  return contenders.map((contender) => {
    const { name, database, version, settings } = contender
    return { name, database, version, settings, rounds: measured.get(contender) ?? [] }
  })
}

function linesOf(rows: readonly Row[]): string[][] {
  const steps = count(MANY_STEPS)
  const line = (title: string, cell: (rounds: readonly Measured[]) => string) => [
    title,
    ...rows.map(({ rounds }) => cell(rounds)),
  ]
  const times = (title: string, of: (measured: Measured) => readonly number[], share: number) =>
    line(title, (rounds) => quantile(rounds.flatMap(of), share).toFixed(1))
  return [
    line('steps per second, 50 workflows at once', (rounds) =>
      count(median(rounds.map(({ stepsPerSecond }) => stepsPerSecond))),
    ),
    times('start to first step, p50 ms', (one) => one.firstStep, 0.5),
    times('step to step, from step 1, p50 ms', (one) => one.early, 0.5),
    times('… p99', (one) => one.early, 0.99),
    times(`step to step, from step ${steps}, p50 ms`, (one) => one.late, 0.5),
    times('… p99', (one) => one.late, 0.99),
    times(`resume after ${steps} steps, ms (goal: ${RESUME_GOAL_MS})`, (one) => one.resume, 0.5),
    times('signal to next step, p50 ms', (one) => one.signal, 0.5),
  ]
}
