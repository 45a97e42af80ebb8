import { type NewJob, prepareJob } from '@oncue/core'
import { openStore, type Store } from '@oncue/db'
import { runMigrations } from 'graphile-worker'
import pg from 'pg'
import type { BenchDatabase } from '../server.ts'
import { bareOn, createBareTables, RESET } from '../store/bare-postgres.ts'
import { PAYLOAD, TOPIC } from './contender.ts'
import type { Field } from './drain.ts'

const CHUNK = 1_000

/** Where the contenders of one database find their jobs. All jobs of a drain come with one commit. */
export async function postgresFields(database: BenchDatabase): Promise<{
  fields: readonly Field[]
  close(): Promise<void>
}> {
  const { url, admin } = database
  const watcher = new pg.Client(url)
  await watcher.connect()
  const store = await openStore(url)
  await createBareTables(admin)
  await runMigrations({ connectionString: url })

  const position = async () => {
    const { rows } = await watcher.query(
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as at`,
    )
    return Number(rows[0]?.at)
  }
  const field = (name: string, table: string, insert: (jobs: number) => Promise<unknown>): Field => ({
    name,
    url,
    position,
    async reset() {
      await admin.query(RESET)
      await admin.query('truncate graphile_worker._private_jobs')
      await admin.query('checkpoint')
    },
    async prepare(jobs) {
      await admin.query('begin')
      await insert(jobs)
      return { commit: () => admin.query('commit') }
    },
    isDrained: async () => (await watcher.query(`select from ${table} limit 1`)).rowCount === 0,
  })
  return {
    fields: [
      field('oncue', 'oncue.jobs', (jobs) => enqueueOncue(store, someJobs(jobs), admin)),
      field('graphile', 'graphile_worker._private_jobs', (jobs) => enqueueGraphile(admin, jobs)),
      field('bare', 'bench.jobs', (jobs) => enqueueBare(admin, someJobs(jobs))),
    ],
    async close() {
      await store.close()
      await watcher.end()
    },
  }
}

export function someJobs(count: number): NewJob[] {
  return Array.from({ length: count }, () => prepareJob(TOPIC, PAYLOAD))
}

async function enqueueOncue(store: Store, jobs: readonly NewJob[], tx: pg.Client): Promise<void> {
  for (let i = 0; i < jobs.length; i += CHUNK) await store.enqueue(jobs.slice(i, i + CHUNK), { tx })
}

async function enqueueBare(admin: pg.Client, jobs: readonly NewJob[]): Promise<void> {
  const bare = bareOn(admin)
  for (let i = 0; i < jobs.length; i += CHUNK) await bare.enqueue(jobs.slice(i, i + CHUNK))
}

async function enqueueGraphile(admin: pg.Client, jobs: number): Promise<void> {
  await admin.query(
    `select count(*) from graphile_worker.add_jobs(array(
       select row ($1, $2::json, null, null, null, null, null, null)::graphile_worker.job_spec
       from generate_series(1, $3::int)))`,
    [TOPIC, JSON.stringify(PAYLOAD), jobs],
  )
}
