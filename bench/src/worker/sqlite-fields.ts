import { openStore } from '@oncue/db'
import Database from 'better-sqlite3'
import { bareOn, openBareSqlite, RESET } from '../store/bare-sqlite.ts'
import type { Field } from './drain.ts'
import { someJobs } from './postgres-fields.ts'

export async function sqliteFields(
  url: string,
): Promise<{ fields: readonly Field[]; close(): Promise<void> }> {
  const file = url.slice('file:'.length)
  const store = await openStore(url)
  await openBareSqlite(file).close()
  const db = new Database(file)
  const bare = bareOn(db)
  const field = (name: string, table: string, insert: (jobs: number) => Promise<unknown>): Field => ({
    name,
    url,
    reset: async () => {
      db.exec(RESET)
    },
    async prepare(jobs) {
      db.exec('BEGIN IMMEDIATE')
      await insert(jobs)
      return { commit: async () => db.exec('COMMIT') }
    },
    isDrained: async () => db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() === undefined,
    // SQLite logs whole pages, so there is nothing to compare.
    position: async () => 0,
  })
  return {
    fields: [
      field('oncue', 'oncue_jobs', (jobs) => store.enqueue(someJobs(jobs), { tx: db })),
      field('bare-sqlite', 'bench_jobs', (jobs) => bare.enqueue(someJobs(jobs))),
    ],
    async close() {
      await store.close()
      db.close()
    },
  }
}
