import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEmptyPostgresDatabase, createEmptySqliteDatabase } from '@oncue/db/testing'
import { afterAll, beforeAll, inject, it } from 'vitest'
import { installOffline } from '../../release/install-offline.ts'
import { packAll } from '../../release/packages.ts'
import { tryWithoutApi } from '../../release/try-team.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oncue-without-prisma-'))
  const packages = await packAll(folder)
  const needed = {
    producer: ['@oncue/core', '@oncue/runtime', '@oncue/db'],
    worker: ['@oncue/core', '@oncue/runtime', '@oncue/logger', '@oncue/db', '@oncue/worker'],
  }
  for (const [name, names] of Object.entries(needed)) {
    const ours = packages.filter(({ manifest }) => names.includes(manifest.name))
    await installOffline(join(folder, name), ours)
  }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it.each([
  ['SQLite', createEmptySqliteDatabase],
  ['Postgres', () => createEmptyPostgresDatabase(inject('postgresUrl'))],
])('a worker and a producer from tarballs have no Prisma and run: %s', async (_, createDatabase) => {
  const database = await createDatabase()
  try {
    await tryWithoutApi(join(folder, 'worker'), join(folder, 'producer'), database.url)
  } finally {
    await database.drop()
  }
})
