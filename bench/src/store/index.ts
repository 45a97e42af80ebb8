import { createSqliteDatabase } from '@oncue/db/testing'
import Database from 'better-sqlite3'
import type { Benchmark, BenchmarkOptions } from '../benchmark.ts'
import { quantile } from '../measure.ts'
import { count, percent, progress, table } from '../report.ts'
import { openPostgres, openQuietPostgres } from '../server.ts'
import { createBareTables, openBarePostgres, RESET as RESET_POSTGRES } from './bare-postgres.ts'
import { openBareSqlite, RESET as RESET_SQLITE } from './bare-sqlite.ts'
import { compare, type Sizes, type StepResult } from './compare.ts'
import { openOncue } from './oncue.ts'
import { measureWal, type WalResult } from './wal.ts'

/** The goal for every step: at least this share of the speed of hand-written SQL. */
const GOAL = 0.75

export const store: Benchmark = {
  summary: 'enqueue, claim, settle and drain beside hand-written SQL, on Postgres and SQLite',
  async run(options) {
    const wanted = (name: string) => options.database === undefined || options.database === name
    const postgres = wanted('postgres') ? await onPostgres(sizesOf(options)) : undefined
    const sqlite = wanted('sqlite') ? await onSqlite(sizesOf(options)) : undefined
    const wal = wanted('postgres') ? await onQuietPostgres() : undefined
    return {
      data: { goal: GOAL, postgres, sqlite, wal },
      text: [
        postgres && section(`Postgres ${postgres.version}`, postgres.steps),
        sqlite && section(`SQLite ${sqlite.version}`, sqlite.steps),
        wal && walSection(wal),
      ]
        .filter(Boolean)
        .join('\n'),
    }
  },
}

function sizesOf({ jobs, rounds }: BenchmarkOptions): Sizes {
  const size = jobs ?? 5_000
  return { jobs: size, singles: Math.max(50, Math.ceil(size / 25)), rounds: rounds ?? 15 }
}

async function onPostgres(sizes: Sizes) {
  const database = await openPostgres()
  try {
    const oncue = await openOncue(database.url)
    await createBareTables(database.admin)
    const bare = await openBarePostgres(database.url)
    const reset = async () => {
      await database.admin.query(RESET_POSTGRES)
      // Otherwise one could start at any time, in the middle of a contender's turn.
      await database.admin.query('checkpoint')
    }
    const steps = await compare('Postgres', { oncue, bare }, reset, sizes)
    await oncue.close()
    await bare.close()
    return { version: database.version, sizes, steps }
  } finally {
    await database.close()
  }
}

async function onSqlite(sizes: Sizes) {
  const database = await createSqliteDatabase()
  try {
    const file = database.url.slice('file:'.length)
    const oncue = await openOncue(database.url)
    const bare = openBareSqlite(file)
    const admin = new Database(file)
    const reset = async () => {
      admin.exec(RESET_SQLITE)
    }
    const steps = await compare('SQLite', { oncue, bare }, reset, sizes)
    const version = admin.prepare('SELECT sqlite_version()').pluck().get() as string
    admin.close()
    await oncue.close()
    await bare.close()
    return { version, sizes, steps }
  } finally {
    await database.drop()
  }
}

async function onQuietPostgres(): Promise<WalResult[]> {
  progress('WAL: starting a quiet server')
  const database = await openQuietPostgres()
  try {
    return await measureWal(database)
  } finally {
    await database.close()
  }
}

function section(title: string, steps: readonly StepResult[]): string {
  const head = [title, 'of bare', 'middle half', 'goal', 'jobs/s', 'bare', 'CPU µs/job', 'bare']
  const rows = steps.map(({ step, ratio, ratios, jobsPerSecond, cpuMicrosPerJob }) => [
    step,
    percent(ratio),
    `${percent(quantile(ratios, 0.25))} – ${percent(quantile(ratios, 0.75))}`,
    ratio >= GOAL ? 'met' : 'MISSED',
    count(jobsPerSecond.oncue),
    count(jobsPerSecond.bare),
    cpuMicrosPerJob.oncue.toFixed(1),
    cpuMicrosPerJob.bare.toFixed(1),
  ])
  return table(head, rows)
}

function walSection(results: readonly WalResult[]): string {
  const head = ['WAL bytes a job', 'enqueue', 'drain', 'bare enqueue', 'bare drain']
  const rows = results.map(({ payloadBytes, oncue, bare }) => [
    `payload of ${count(payloadBytes)} bytes`,
    count(oncue.enqueue),
    count(oncue.drain),
    count(bare.enqueue),
    count(bare.drain),
  ])
  return table(head, rows)
}
