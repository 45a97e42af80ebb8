import { createSqliteDatabase } from '@oncue/db/testing'
import type { Benchmark, Report } from '../benchmark.ts'
import { openPostgres } from '../server.ts'
import { compare } from './compare.ts'
import type { Field } from './drain.ts'
import { growth } from './memory.ts'
import { postgresFields } from './postgres-fields.ts'
import { profileOf } from './profile.ts'
import { sqliteFields } from './sqlite-fields.ts'

const JOBS = 40_000
const MEMORY_JOBS = 200_000
const ROUNDS = 5

type DatabaseName = 'postgres' | 'sqlite'

export const worker: Benchmark = {
  summary: 'drain of no-op jobs by one worker process, beside graphile-worker and bare SQL',
  async run({ jobs = 0, rounds = ROUNDS, database, memory, profile }) {
    const names: DatabaseName[] = database ? [database] : ['postgres', 'sqlite']
    const reports: Report[] = []
    for (const name of profile ? names.slice(0, 1) : names) {
      const report = await on(name, (fields) => {
        if (profile) return profileOf(fields, jobs || JOBS, profile)
        return memory
          ? growth(name, fields, jobs || MEMORY_JOBS)
          : compare(name, fields, jobs || JOBS, rounds)
      })
      reports.push(report)
    }
    return { data: reports.map(({ data }) => data), text: reports.map(({ text }) => text).join('\n') }
  },
}

async function on(name: DatabaseName, work: (fields: readonly Field[]) => Promise<Report>): Promise<Report> {
  if (name === 'postgres') {
    const database = await openPostgres()
    return within(() => postgresFields(database), work).finally(database.close)
  }
  const { url, drop } = await createSqliteDatabase()
  return within(() => sqliteFields(url), work).finally(drop)
}

async function within(
  open: () => Promise<{ fields: readonly Field[]; close(): Promise<void> }>,
  work: (fields: readonly Field[]) => Promise<Report>,
): Promise<Report> {
  const { fields, close } = await open()
  return work(fields).finally(close)
}
