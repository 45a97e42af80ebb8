import { describe, expect, inject, it } from 'vitest'
import { runModel } from './model/run.ts'
import { createPostgresDatabase, createSqliteDatabase } from './support/index.ts'

/** A short run of what `pnpm model` does for as long as you like. */
const SIZE = { processes: 4, actors: 8, steps: 80 }

describe.each([
  ['Postgres', () => createPostgresDatabase(inject('postgresUrl'))],
  ['SQLite', () => createSqliteDatabase()],
] as const)('32 actors in 4 processes do everything at once on %s', (_, createDatabase) => {
  it.each([1, 2])(
    'no job is lost, settled twice or stuck; limits and keys hold: %i',
    { timeout: 240_000 },
    async (random) => {
      const database = await createDatabase()
      try {
        const { violations, record } = await runModel(database.url, { random, ...SIZE })
        expect(violations.slice(0, 20)).toEqual([])
        expect(record.claims.length).toBeGreaterThan(0)
      } finally {
        await database.drop()
      }
    },
  )
})
