import { borrowPostgresDatabase } from './postgres-database.ts'
import { createSqliteDatabase } from './sqlite-database.ts'
import type { TestDatabase } from './test-database.ts'

/** For `describe.each`: what holds on one database holds on the other. */
export const DIALECTS = ['postgres', 'sqlite'] as const
export type Dialect = (typeof DIALECTS)[number]

/** Migrated and empty; on Postgres, on the server of the run. */
export async function createDatabase(dialect: Dialect): Promise<TestDatabase> {
  if (dialect === 'sqlite') return createSqliteDatabase()
  // Not in a test file, because benchmarks and scripts use this folder too, without vitest.
  const { inject } = await import('vitest')
  return borrowPostgresDatabase(inject('postgresUrl'))
}
