import { openStore } from '@oncue/db'
import { createSqliteDatabase } from '@oncue/db/testing'
import Database from 'better-sqlite3'
import type { Benchmark } from '../benchmark.ts'
import { type PostgresUsed, sqliteVersion, watched } from '../conditions.ts'
import { type DatabaseName, type Run, withoutIndexes } from '../fill.ts'
import { Fixture as ReadsFixture } from '../reads/fixture.ts'
import { recorded } from '../recorded.ts'
import { count, progress } from '../report.ts'
import { openCountingPostgres } from '../server.ts'
import { casesOf, sizesOf } from './cases.ts'
import { Fixture } from './fixture.ts'
import { countPages, type PageCounter } from './pages.ts'
import { BATCH, probeClaims, probeReads, type Sample } from './probe.ts'
import { plotOf, type Result, resultOf, type ScaleRun, textOf } from './report.ts'

const CHUNK = 500_000
const ROUNDS = 11

export const scale: Benchmark = {
  summary:
    'claim, settle, list, stats and failures beside 10³ to --jobs finished jobs (10⁷ for what is promised)',
  hasPlot: true,
  recorded: recorded<ScaleRun>('scale', {
    sections: [{ document: 'bench/README.md', name: 'all', render: textOf }],
    plot: { alt: 'Pages and milliseconds of each call, by the number of finished jobs', render: plotOf },
    isWhole: ({ jobs, rounds }) => jobs >= 1_000_000 && rounds >= ROUNDS,
  }),
  async run({ jobs = 1_000_000, rounds = ROUNDS, database }) {
    const data = await watched(async () => {
      const onServer = database === 'sqlite' ? undefined : await onPostgres(jobs, rounds)
      const inFile = database === 'postgres' ? [] : await onSqlite(jobs, rounds)
      const results = [...(onServer?.results ?? []), ...inFile]
      const sqlite = database === 'postgres' ? undefined : sqliteVersion()
      return { postgres: onServer?.postgres, sqlite, jobs, rounds, batch: BATCH, results }
    })
    return { data, text: `${textOf(data)}\n`, plot: plotOf(data) }
  },
}

/** What differs between the databases. */
interface Place {
  readonly database: DatabaseName
  readonly url: string
  readonly run: Run
  readonly counter: PageCounter | null
  /** Adds finished jobs in one go. */
  grow(fill: () => Promise<void>): Promise<void>
  /** What autovacuum would do in time. */
  vacuum(): Promise<void>
}

async function onPostgres(
  jobs: number,
  rounds: number,
): Promise<{ postgres: PostgresUsed; results: Result[] }> {
  const { admin, url, version, settings, close } = await openCountingPostgres()
  try {
    const results = await measureAt(
      {
        database: 'postgres',
        url,
        run: (sql) => admin.query(sql),
        counter: await countPages(admin),
        grow: (fill) => withoutIndexes(admin, fill),
        async vacuum() {
          await admin.query('vacuum analyze')
        },
      },
      jobs,
      rounds,
    )
    return { postgres: { version, settings }, results }
  } finally {
    await close()
  }
}

async function onSqlite(jobs: number, rounds: number): Promise<Result[]> {
  const { url, drop } = await createSqliteDatabase()
  const db = new Database(url.slice('file:'.length))
  // For filling only: the store's own connection writes with synchronous=FULL.
  db.pragma('synchronous = OFF')
  try {
    return await measureAt(
      {
        database: 'sqlite',
        url,
        run: (sql) => db.exec(sql),
        counter: null,
        grow: (fill) => fill(),
        vacuum: async () => {},
      },
      jobs,
      rounds,
    )
  } finally {
    db.close()
    await drop()
  }
}

async function measureAt(place: Place, jobs: number, rounds: number): Promise<Result[]> {
  const { database } = place
  const history = new ReadsFixture(database, place.run)
  const results: Result[] = []
  let finished = 0
  for (const size of sizesOf(jobs)) {
    progress(`scale: ${database}, ${count(size)} finished jobs`)
    await place.grow(() => addFinished(history, finished, size))
    finished = size
    await history.recount()
    for (const { name, fill, probes } of casesOf(jobs)) {
      progress(`scale: ${database}, ${count(size)} finished, ${name}`)
      const fixture = new Fixture(database, place.run)
      await fixture.clear()
      await fill(fixture, jobs)
      await place.vacuum()
      const store = await openStore(place.url)
      try {
        const add = (probe: string, samples: readonly Sample[]) =>
          results.push(...samples.map((sample) => resultOf({ database, finished, name, probe }, sample)))
        // First, because claims and settles leave dead rows behind.
        add('', await probeReads(store, rounds, place.counter))
        for (const probe of probes) add(probe.name, await probeClaims(store, probe, rounds, place.counter))
      } finally {
        await store.close()
      }
    }
  }
  return results
}

async function addFinished(history: ReadsFixture, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += CHUNK) {
    progress(`scale: ${count(at)} of ${count(to)} finished jobs are there`)
    await history.finished(at, Math.min(to, at + CHUNK))
  }
}
