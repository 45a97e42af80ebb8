import { type JobPage, openStore } from '@oncue/db'
import { createSqliteDatabase } from '@oncue/db/testing'
import Database from 'better-sqlite3'
import type { Benchmark } from '../benchmark.ts'
import {
  conditionsOf,
  type DatabasesUsed,
  type PostgresUsed,
  sqliteVersion,
  type Watched,
  watched,
} from '../conditions.ts'
import { withoutIndexes } from '../fill.ts'
import { median } from '../measure.ts'
import { recorded } from '../recorded.ts'
import { count, isMet, markdown, progress } from '../report.ts'
import { openPostgres } from '../server.ts'
import { CASES, type Case, OUTAGE_CASES } from './cases.ts'
import { Fixture, LIVE, RETRYING } from './fixture.ts'

const CHUNK = 500_000
const ROUNDS = 11

type Timing = {
  readonly name: string
  readonly goal: number | null
  readonly ms: readonly number[]
  /** How often the result was a short page with a cursor to continue from. */
  readonly short: number
}
type Result = { readonly database: string; readonly note: string; readonly timings: readonly Timing[] }

/** What --json writes, and the documents are written from. */
type ReadsRun = Watched &
  DatabasesUsed & {
    readonly jobs: number
    readonly rounds: number
    readonly live: number
    readonly retrying: number
    readonly results: readonly Result[]
  }

export const reads: Benchmark = {
  summary: 'list and stats among a million finished jobs (--jobs 10000000 for what is promised)',
  recorded: recorded<ReadsRun>('reads', {
    sections: [{ document: 'bench/README.md', name: 'all', render: textOf }],
    isWhole: ({ jobs, rounds }) => jobs >= 10_000_000 && rounds >= ROUNDS,
  }),
  async run({ jobs = 1_000_000, rounds = ROUNDS, database }) {
    const data = await watched(async () => {
      const onServer = database === 'sqlite' ? undefined : await onPostgres(jobs, rounds)
      const inFile = database === 'postgres' ? [] : await onSqlite(jobs, rounds)
      return {
        ...{ postgres: onServer?.postgres, sqlite: inFile.length > 0 ? sqliteVersion() : undefined },
        ...{ jobs, rounds, live: LIVE, retrying: RETRYING },
        results: [...(onServer?.results ?? []), ...inFile],
      }
    })
    return { data, text: `${textOf(data)}\n` }
  },
}

const OUTAGE = `${count(RETRYING)} jobs retry`

/** Without statistics first: a plan that needs ANALYZE to be good is a bad plan. */
async function onPostgres(
  jobs: number,
  rounds: number,
): Promise<{ postgres: PostgresUsed; results: Result[] }> {
  const { admin, url, version, settings, close } = await openPostgres()
  try {
    for (const name of ['history', 'jobs', 'job_meta', 'stat_deltas', 'stats'])
      await admin.query(`alter table oncue.${name} set (autovacuum_enabled = off)`)
    const fixture = new Fixture('postgres', (sql) => admin.query(sql))
    await withoutIndexes(admin, () => fill(fixture, jobs))
    const bare = {
      database: 'Postgres',
      note: 'no statistics, no vacuum',
      timings: await measure(url, rounds),
    }
    await admin.query('vacuum analyze')
    const kept = {
      database: 'Postgres',
      note: 'vacuumed and analysed',
      timings: await measure(url, rounds),
    }
    await fixture.retrying()
    const outage = {
      database: 'Postgres',
      note: OUTAGE,
      timings: await measure(url, rounds, OUTAGE_CASES),
    }
    return { postgres: { version, settings }, results: [bare, kept, outage] }
  } finally {
    await close()
  }
}

async function onSqlite(jobs: number, rounds: number): Promise<Result[]> {
  const { url, drop } = await createSqliteDatabase()
  try {
    const db = new Database(url.slice('file:'.length))
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = OFF')
    const fixture = new Fixture('sqlite', (sql) => db.exec(sql))
    await fill(fixture, jobs)
    const calm = { database: 'SQLite', note: 'no statistics', timings: await measure(url, rounds) }
    await fixture.retrying()
    db.close()
    return [calm, { database: 'SQLite', note: OUTAGE, timings: await measure(url, rounds, OUTAGE_CASES) }]
  } finally {
    await drop()
  }
}

async function fill(fixture: Fixture, jobs: number): Promise<void> {
  for (let from = 0; from < jobs; from += CHUNK) {
    progress(`reads: ${count(from)} of ${count(jobs)} jobs`)
    await fixture.finished(from, Math.min(jobs, from + CHUNK))
  }
  await fixture.live()
  await fixture.counters()
}

/** The first round warms the caches and does not count. */
async function measure(url: string, rounds: number, cases: readonly Case[] = CASES): Promise<Timing[]> {
  const store = await openStore(url)
  try {
    const timings = cases.map(({ name, goal }) => ({ name, goal, ms: [] as number[], short: 0 }))
    for (let round = 0; round <= rounds; round++) {
      progress(`reads: round ${round} of ${rounds}`)
      for (const [i, { run }] of cases.entries()) {
        const start = performance.now()
        const answer = await run(store)
        const timing = timings[i]
        if (round === 0 || !timing) continue
        timing.ms.push(performance.now() - start)
        if (isShort(answer)) timing.short += 1
      }
    }
    return timings
  } finally {
    await store.close()
  }
}

/** No case reads fewer than fifty. */
function isShort(answer: unknown): boolean {
  const { items = [], nextCursor = null } = answer as Partial<JobPage>
  return nextCursor !== null && items.length < 50
}

function textOf(run: ReadsRun): string {
  const { jobs, live, rounds, results } = run
  const rest = `${count(jobs)} finished and ${count(live)} live jobs, ${rounds} rounds`
  return [conditionsOf(run, run, rest), ...results.map(tableOf)].join('\n\n')
}

function tableOf({ database, note, timings }: Result): string {
  const rows = timings.map(({ name, goal, ms, short }) => {
    const middle = median(ms)
    const met = goal === null ? '' : isMet(middle < goal)
    const cut = short ? `${short} of ${ms.length}` : ''
    return [name, middle.toFixed(1), Math.max(...ms).toFixed(1), cut, goal === null ? '' : `< ${goal}`, met]
  })
  return markdown([`${database}, ${note}`, 'median ms', 'worst', 'short pages', 'goal', 'met'], rows)
}
