import { createSqliteDatabase } from '@oncue/db/testing'
import type { Benchmark, BenchmarkOptions } from '../benchmark.ts'
import { type PostgresUsed, sqliteVersion, watched } from '../conditions.ts'
import { install } from '../install.ts'
import { recorded } from '../recorded.ts'
import { count, progress } from '../report.ts'
import { openPostgres } from '../server.ts'
import type { Contender } from './contender.ts'
import { DBOS_INSTALLATION } from './contenders/dbos.ts'
import { CONTENDERS } from './contenders/index.ts'
import type { Measured } from './measurements.ts'
import { measureInProcess } from './protocol.ts'
import { type DurableData, type DurableRun, type Row, textOf } from './report.ts'

const ROUNDS = 3

export const durable: Benchmark = {
  summary: 'steps, resumes and signals of durable jobs, beside DBOS Transact',
  recorded: recorded<DurableRun>('durable', {
    sections: [{ document: 'bench/README.md', name: 'all', render: textOf }],
    isWhole: ({ rounds, rows }) => rounds >= ROUNDS && rows.length === CONTENDERS.length,
  }),
  async run(options) {
    const chosen = choose(options)
    if (chosen.some(({ name }) => name === 'dbos')) await install(DBOS_INSTALLATION)
    const data = await watched(() => measureBoth(chosen, options.rounds ?? ROUNDS))
    return { data, text: `${textOf(data)}\n` }
  },
}

async function measureBoth(chosen: readonly Contender[], rounds: number): Promise<DurableData> {
  const rows: Row[] = []
  let postgres: PostgresUsed | undefined
  for (const database of ['postgres', 'sqlite'] as const) {
    const own = chosen.filter((contender) => contender.database === database)
    if (own.length === 0) continue
    const { url, used, close } = database === 'postgres' ? await onServer() : await inFile()
    postgres ??= used
    try {
      rows.push(...(await measureAll(own, url, rounds)))
    } finally {
      await close()
    }
  }
  const isInFile = chosen.some(({ database }) => database === 'sqlite')
  return { postgres, sqlite: isInFile ? sqliteVersion() : undefined, rounds, rows }
}

function choose({ only, database }: BenchmarkOptions): Contender[] {
  const chosen = CONTENDERS.filter(
    (contender) => (!only || only.includes(contender.name)) && (!database || contender.database === database),
  )
  if (chosen.length > 0) return chosen
  const names = CONTENDERS.map(({ name, database }) => `${name} on ${database}`).join(', ')
  throw new Error(`No contender is left. There are ${names}`)
}

async function onServer() {
  const { url, version, settings, close } = await openPostgres()
  return { url, used: { version, settings }, close }
}

async function inFile() {
  const { url, drop } = await createSqliteDatabase()
  return { url, used: undefined, close: drop }
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
