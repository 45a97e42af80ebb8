import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { migrate, rollback } from '../src/migrate/migrate.ts'
import { loadDriver } from '../src/sqlite/driver.ts'
import { dialectOf, sqliteFile } from '../src/url.ts'
import {
  createEmptyPostgresDatabase,
  createEmptySqliteDatabase,
  describeCatalog,
  type TestDatabase,
} from './support/index.ts'

/**
 * Oncue is installed into a database that belongs to another project. Here that is a project with
 * Prisma: its own schema, its own migrations, its own record of them.
 */
const cli = fileURLToPath(new URL('../../../prisma/cli.ts', import.meta.url))

const dialects = [
  { dialect: 'postgres', create: () => createEmptyPostgresDatabase(inject('postgresUrl')) },
  { dialect: 'sqlite', create: createEmptySqliteDatabase },
] as const

const PROVIDERS = { postgres: 'postgresql', sqlite: 'sqlite' }

let database: TestDatabase
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oncue-host-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
  await database.drop()
})

async function makeHost(dialect: 'postgres' | 'sqlite'): Promise<void> {
  const provider = PROVIDERS[dialect]
  await mkdir(join(folder, 'migrations'))
  await writeFile(join(folder, 'migrations/migration_lock.toml'), `provider = "${provider}"\n`)
  await writeFile(
    join(folder, 'schema.prisma'),
    `datasource db {\n  provider = "${provider}"\n}\n\nmodel Order {\n  id String @id\n  total Int\n\n  @@index([total])\n}\n`,
  )
  await addMigration(
    '20260101000000_orders',
    `CREATE TABLE "Order" ("id" TEXT NOT NULL, "total" INTEGER NOT NULL, CONSTRAINT "Order_pkey" PRIMARY KEY ("id"));
     CREATE INDEX "Order_total_idx" ON "Order"("total");
     INSERT INTO "Order" VALUES ('o1', 100);`,
  )
  await configure()
}

async function addMigration(name: string, sql: string): Promise<void> {
  await mkdir(join(folder, 'migrations', name))
  await writeFile(join(folder, 'migrations', name, 'migration.sql'), sql)
}

async function configure(more: object = {}): Promise<void> {
  const config = {
    schema: './schema.prisma',
    migrations: { path: './migrations' },
    datasource: { url: database.url },
    ...more,
  }
  await writeFile(join(folder, 'prisma.config.mjs'), `export default ${JSON.stringify(config)}`)
}

/** The rows of the host's tables, including its record of migrations. */
async function hostRows(): Promise<unknown> {
  if (dialectOf(database.url) === 'postgres') {
    const client = new pg.Client(database.url)
    await client.connect()
    const { rows } = await client.query('select m.*, o.* from _prisma_migrations m, "Order" o')
    await client.end()
    return rows
  }
  const Driver = await loadDriver()
  const db = new Driver(sqliteFile(database.url))
  const rows = db.prepare('SELECT m.*, o.* FROM _prisma_migrations m, "Order" o').all()
  db.close()
  return rows
}

/** One of the host's own commands. */
function prisma(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const command = [cli, ...args, '--config', 'prisma.config.mjs']
    execFile(process.execPath, command, { cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: `${stdout}${stderr}` }),
    )
  })
}

const deploy = () => prisma('migrate', 'deploy')
const findDrift = () =>
  prisma('migrate', 'diff', '--from-migrations', 'migrations', '--to-config-datasource', '--exit-code')

const NO_DRIFT = { code: 0, output: expect.stringContaining('No difference detected') }
const IN_SYNC = { code: 0, output: expect.stringContaining('Already in sync') }
const UP_TO_DATE = { code: 0, output: expect.stringContaining('Database schema is up to date') }

describe.each(dialects)('in a $dialect database of a Prisma project', ({ dialect, create }) => {
  beforeEach(async () => {
    database = await create()
    await makeHost(dialect)
    expect(await deploy()).toMatchObject({ code: 0 })
  })

  test('installing Oncue changes nothing that was there, and rolling back leaves nothing behind', async () => {
    const before = await describeCatalog(database.url)
    const rows = await hostRows()
    await migrate(database.url)
    const after = await describeCatalog(database.url)
    expect(after.filter((line) => !line.includes('oncue'))).toEqual(before)
    expect(after.length).toBeGreaterThan(before.length)

    while (await rollback(database.url));
    expect(await describeCatalog(database.url)).toEqual(before)
    expect(rows).toMatchObject([{ migration_name: '20260101000000_orders', total: 100 }])
    expect(await hostRows()).toEqual(rows)
    expect(await findDrift()).toMatchObject(NO_DRIFT)
  })

  test('the host can still migrate', async () => {
    await migrate(database.url)
    await addMigration('20260102000000_note', 'ALTER TABLE "Order" ADD COLUMN "note" TEXT;')
    expect(await deploy()).toMatchObject({ code: 0, output: expect.stringContaining('20260102000000_note') })
    expect(await prisma('migrate', 'status')).toMatchObject(UP_TO_DATE)
    expect(await migrate(database.url)).toEqual([])
  })
})

test('on Postgres the host sees no drift, and `migrate dev` has nothing to do', async () => {
  database = await createEmptyPostgresDatabase(inject('postgresUrl'))
  await makeHost('postgres')
  await deploy()
  await migrate(database.url)
  expect(await findDrift()).toMatchObject(NO_DRIFT)
  expect(await prisma('migrate', 'dev')).toMatchObject(IN_SYNC)
})

test('on Postgres the host may also be installed second', async () => {
  database = await createEmptyPostgresDatabase(inject('postgresUrl'))
  await makeHost('postgres')
  await migrate(database.url)
  expect(await deploy()).toMatchObject({ code: 0 })
  expect(await findDrift()).toMatchObject(NO_DRIFT)
})

test('on SQLite the host has to be installed first', async () => {
  database = await createEmptySqliteDatabase()
  await makeHost('sqlite')
  await migrate(database.url)
  expect(await deploy()).toMatchObject({ code: 1, output: expect.stringContaining('not empty') })
})

test('on SQLite, which has no schemas, the host sees no drift when its configuration calls the tables external', async () => {
  database = await createEmptySqliteDatabase()
  await makeHost('sqlite')
  await deploy()
  await migrate(database.url)
  expect(await findDrift()).toMatchObject({ code: 2, output: expect.stringContaining('oncue_jobs') })

  const catalog = await describeCatalog(database.url)
  const external = catalog.flatMap((line) => /^table (oncue_\w+)/.exec(line)?.[1] ?? [])
  const readme = await readFile(new URL('../../../prisma/README.md', import.meta.url), 'utf8')
  for (const table of external) expect(readme).toContain(`'${table}'`)

  await configure({ experimental: { externalTables: true }, tables: { external } })
  expect(await findDrift()).toMatchObject(NO_DRIFT)
  expect(await prisma('migrate', 'dev')).toMatchObject(IN_SYNC)
})
