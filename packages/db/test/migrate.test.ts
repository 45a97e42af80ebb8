import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { prepareJob } from '@oncue/core'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { openControl } from '../src/control/index.ts'
import { diagnose } from '../src/diagnose.ts'
import { readMigrations } from '../src/migrate/files.ts'
import {
  assertMigrated,
  migrate,
  migrationStatus,
  previewRollback,
  rollback,
} from '../src/migrate/migrate.ts'
import { migrationsFolder } from '../src/migrate/sources.ts'
import { openStore } from '../src/open.ts'
import { FUNCTION_SET } from '../src/postgres/function-set.ts'
import { loadDriver } from '../src/sqlite/driver.ts'
import { sqliteFile } from '../src/url.ts'
import {
  createEmptyPostgresDatabase,
  createEmptySqliteDatabase,
  describeCatalog,
  type TestDatabase,
} from './support/index.ts'

const dialects = [
  { dialect: 'postgres', create: () => createEmptyPostgresDatabase(inject('postgresUrl')) },
  { dialect: 'sqlite', create: createEmptySqliteDatabase },
] as const

let database: TestDatabase
let scratch: string

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'oncue-migrations-'))
})
afterEach(async () => {
  await rm(scratch, { recursive: true })
  await database.drop()
})

/** Migrations of the test's own: name → SQL of `up` and `down`. */
async function folderWith(migrations: Record<string, { up: string; down?: string }>): Promise<string> {
  const folder = await mkdtemp(join(scratch, 'folder-'))
  for (const [name, { up, down }] of Object.entries(migrations)) {
    await mkdir(join(folder, name))
    await writeFile(join(folder, name, 'migration.sql'), up)
    if (down !== undefined) await writeFile(join(folder, name, 'down.sql'), down)
  }
  return folder
}

/** A process that has loaded everything it needs and migrates when told to. */
class Migrator {
  readonly #child = spawn(process.execPath, ['--input-type=module', '-e', MIGRATOR], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  readonly #lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()

  constructor(url: string) {
    this.#child.stdin.write(`${url}\n`)
  }

  async ready(): Promise<void> {
    expect(await this.#lines.next()).toMatchObject({ value: 'ready' })
  }

  async go(): Promise<string[]> {
    this.#child.stdin.write('go\n')
    return JSON.parse((await this.#lines.next()).value ?? 'null')
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

const MIGRATOR = `
  import { createInterface } from 'node:readline'
  import { migrate, migrationStatus } from ${JSON.stringify(new URL('../src/migrate/migrate.ts', import.meta.url).href)}
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const { value: url } = await lines.next()
  await migrationStatus(url)
  console.log('ready')
  await lines.next()
  console.log(JSON.stringify((await migrate(url)).map((step) => step.name)))
  process.exit()
`

describe.each(dialects)('migrations on $dialect', ({ dialect, create }) => {
  const ours = migrationsFolder(dialect)
  const names = async () => (await readMigrations(ours)).map(({ name }) => name)
  const stepNames = async () =>
    dialect === 'postgres' ? [...(await names()), `functions_${FUNCTION_SET}`] : names()
  const table = (name: string) => (dialect === 'postgres' ? `oncue.${name}` : `oncue_${name}`)
  const one = { up: `create table ${table('one')} (id integer)`, down: `drop table ${table('one')}` }
  const two = { up: `create table ${table('two')} (id integer)`, down: `drop table ${table('two')}` }
  const states = async (folder?: string) =>
    (await migrationStatus(database.url, { folder })).migrations.map(({ name, state }) => `${name} ${state}`)

  beforeEach(async () => {
    database = await create()
  })

  test('are applied in order, and the result names them', async () => {
    const steps = await migrate(database.url)
    expect(steps.map(({ name }) => name)).toEqual(await stepNames())
    for (const { ms } of steps) expect(ms).toBeGreaterThanOrEqual(0)
  })

  test('are applied once: a second call has nothing to do', async () => {
    await migrate(database.url)
    const catalog = await describeCatalog(database.url)
    expect(await migrate(database.url)).toEqual([])
    expect(await describeCatalog(database.url)).toEqual(catalog)
  })

  test('are rolled back one at a time, newest first', async () => {
    await migrate(database.url)
    const taken: string[] = []
    for (let step = await rollback(database.url); step; step = await rollback(database.url))
      taken.push(step.name)
    expect(taken).toEqual((await names()).reverse())
  })

  test('report before a rollback what would be lost, without losing it', async () => {
    expect(await previewRollback(database.url)).toBeNull()
    const store = await openStore(database.url, { migrate: true })
    await store.enqueue([prepareJob('mail', {}), prepareJob('mail', {})])
    const { alertRules } = await openControl(store)
    await alertRules.addDefaults()
    const rules = (await alertRules.list()).length
    await store.close()
    const lost = async () => {
      const preview = await previewRollback(database.url)
      const rows = preview?.lost.map((of) => [of.table.replace(/^oncue[._]/, ''), of.rows])
      return { name: preview?.name, ...Object.fromEntries(rows ?? []) }
    }
    const rollBackTo = async (name: string) => {
      while ((await previewRollback(database.url))?.name !== name) await rollback(database.url)
    }
    await rollBackTo('0002_on_call')
    expect(await lost()).toMatchObject({ alert_rules: rules, alerts: 0 })
    expect((await migrationStatus(database.url)).migrations).toMatchObject([
      { state: 'applied' },
      { name: '0002_on_call', state: 'applied' },
      ...(await names()).slice(2).map(() => ({ state: 'pending' })),
    ])
    await rollBackTo('0001_tables')
    expect(await lost()).toMatchObject({ jobs: 2, history: 0, settings: 0 })
  })

  test('report before a rollback how many values the dropped columns hold', async () => {
    const folder = await folderWith({
      '0001_one': one,
      '0002_columns': {
        up: `alter table ${table('one')} add column tag text;
          alter table ${table('one')} add column note text;
          insert into ${table('one')} (id, tag) values (1, 'a'), (2, 'b'), (3, null)`,
        down: `alter table ${table('one')} drop column tag; alter table ${table('one')} drop column note`,
      },
    })
    await migrate(database.url, { folder })
    expect((await previewRollback(database.url, { folder }))?.lost).toEqual([
      { table: `${table('one')}.tag`, rows: 2 },
      { table: `${table('one')}.note`, rows: 0 },
    ])
  })

  test('are not rolled back while workers run, unless forced', async () => {
    const store = await openStore(database.url, { migrate: true })
    const info = { host: 'web-1', pid: 1, queues: ['default'], concurrency: 1, version: '0' }
    const presence = await store.attend({ id: randomUUID(), ...info })
    expect(await previewRollback(database.url)).toMatchObject({ liveWorkers: 1 })
    await expect(rollback(database.url)).rejects.toMatchObject({
      code: 'INVALID_STATE',
      message: '1 worker runs on this database',
      details: { liveWorkers: 1 },
    })
    expect((await migrationStatus(database.url)).migrations.at(-1)).toMatchObject({ state: 'applied' })
    expect(await rollback(database.url, { force: true })).not.toBeNull()
    await presence.leave()
    await store.close()
    expect(await previewRollback(database.url)).toMatchObject({ liveWorkers: 0 })
    expect(await rollback(database.url)).not.toBeNull()
  })

  test('each have a down.sql that restores exactly the schema before it', async () => {
    const before: string[][] = []
    for (let count = 0; count < (await names()).length; count++) {
      const folder = await mkdtemp(join(scratch, 'first-'))
      for (const name of (await names()).slice(0, count))
        await cp(join(ours, name), join(folder, name), { recursive: true })
      if (count > 0) await migrate(database.url, { folder })
      before.push(await describeCatalog(database.url))
    }
    await migrate(database.url)
    for (const catalog of before.reverse()) {
      await rollback(database.url)
      expect(await describeCatalog(database.url)).toEqual(catalog)
    }
  })

  test('that are rolled back below durable jobs make suspended ones due, and none that is being undone', async () => {
    const store = await openStore(database.url, { migrate: true })
    const worker = randomUUID()
    const waits = [
      { kind: 'signal', name: 'bank', key: 'receive:bank#1', after: 0 },
      { kind: 'timer', name: 'nap', key: 'sleep:nap', delayMs: 86_400_000 },
    ] as const
    const suspended: string[] = []
    for (const wait of waits) {
      const [id = ''] = await store.enqueue([prepareJob('mail', {})])
      await store.claim({ worker, queues: ['default'], limit: 1, start: 1, leaseMs: 30_000 })
      await store.settle([{ id, run: 1, kind: 'suspend', waits: [wait], progressed: true }])
      suspended.push(id)
    }
    const undone = await store.enqueue([prepareJob('mail', {}), prepareJob('mail', {})])
    const claim = { worker, queues: ['default'], leaseMs: 30_000 }
    await store.claim({ ...claim, limit: 2, start: 2 })
    const outcomes = [{ key: 'undo:refund', kind: 'undo' }] as const
    await store.durable.record(undone.map((id) => ({ id, run: 1, after: 0, outcomes })))
    await store.settle(undone.map((id) => ({ id, run: 1, kind: 'cancel' })))
    // The undos of one run at this moment.
    expect((await store.claim({ ...claim, limit: 1, start: 1 })).jobs).toMatchObject([
      { run: 2, ending: { status: 'cancelled' } },
    ])
    await store.enqueue([prepareJob('mail', {}, { delay: 86_400_000 })])
    await store.enqueue([prepareJob('mail', {}, { after: suspended.slice(0, 1) })])
    await store.close()
    while ((await previewRollback(database.url))?.name !== '0002_on_call') await rollback(database.url)

    const due = `select id from ${table('jobs')} where status = 'pending' and run_at = visible_at`
    const found = async () => {
      if (dialect === 'sqlite') {
        const Database = await loadDriver()
        const file = new Database(sqliteFile(database.url))
        const rows = file.prepare(`${due} and visible_at <= unixepoch('subsec') * 1000`).all()
        file.close()
        return rows
      }
      const client = new pg.Client(database.url)
      await client.connect()
      const { rows } = await client.query(`${due} and visible_at <= now()`)
      await client.end()
      return rows
    }
    expect(((await found()) as { id: string }[]).map(({ id }) => id).sort()).toEqual(suspended.sort())
  })

  test('can be applied again after a rollback', async () => {
    await migrate(database.url)
    const catalog = await describeCatalog(database.url)
    while (await rollback(database.url));
    await migrate(database.url)
    expect(await describeCatalog(database.url)).toEqual(catalog)
  })

  test('are applied once by ten processes that start at the same moment, and all ten succeed', async () => {
    const processes = Array.from({ length: 10 }, () => new Migrator(database.url))
    try {
      await Promise.all(processes.map((process) => process.ready()))
      const applied = await Promise.all(processes.map((process) => process.go()))
      expect(applied.flat().sort()).toEqual(await stepNames())
      await assertMigrated(database.url)
    } finally {
      for (const process of processes) process.kill()
    }
  })

  test('are applied once by concurrent calls in one process', async () => {
    const steps = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url)))
    expect(steps.flat().length).toBe((await stepNames()).length)
  })

  test('are rolled back once by concurrent rollbacks', async () => {
    const folder = await folderWith({ '0001_one': one })
    await migrate(database.url, { folder })
    const steps = await Promise.all([rollback(database.url, { folder }), rollback(database.url, { folder })])
    expect(steps.filter((step) => step !== null)).toHaveLength(1)
    expect((await describeCatalog(database.url)).join('\n')).not.toContain('oncue')
  })

  test('show their status without changing anything', async () => {
    const folder = await folderWith({ '0001_one': one, '0002_two': two })
    const empty = await describeCatalog(database.url)
    expect(await states(folder)).toEqual(['0001_one pending', '0002_two pending'])
    expect(await describeCatalog(database.url)).toEqual(empty)

    await migrate(database.url, { folder: await folderWith({ '0001_one': one }) })
    expect(await states(folder)).toEqual(['0001_one applied', '0002_two pending'])

    const { migrations } = await migrationStatus(database.url, { folder })
    expect(migrations[0]?.appliedAt).toBeInstanceOf(Date)
    expect(migrations[1]?.appliedAt).toBeNull()
  })

  describe('of a newer version', () => {
    const needing = (needs: string, { up, down }: typeof one) => ({
      ...{ up: `-- What it is for.\n-- needs: ${needs}\n${up}`, down },
    })
    const three = { up: `create table ${table('three')} (id integer)`, down: `drop table ${table('three')}` }

    test('do not stop older code that has the migration they require', async () => {
      const newer = { '0001_one': one, '0002_two': needing('0001_one', two) }
      await migrate(database.url, { folder: await folderWith(newer) })
      const folder = await folderWith({ '0001_one': one })

      expect(await assertMigrated(database.url, { folder })).toEqual(['0002_two'])
      expect(await migrate(database.url, { folder })).toEqual([])
      expect(await states(folder)).toEqual(['0001_one applied', '0002_two newer'])
    })

    test('stop exactly the code that is older than what they require', async () => {
      const all = {
        '0001_one': one,
        '0002_two': needing('0001_one', two),
        '0003_three': needing('0002_two', three),
      }
      await migrate(database.url, { folder: await folderWith(all) })

      const middle = await folderWith({ '0001_one': one, '0002_two': needing('0001_one', two) })
      expect(await assertMigrated(database.url, { folder: middle })).toEqual(['0003_three'])
      const oldest = await folderWith({ '0001_one': one })
      const error = { code: 'SCHEMA_TOO_NEW', details: { unknown: ['0003_three'] } }
      await expect(assertMigrated(database.url, { folder: oldest })).rejects.toMatchObject(error)
    })

    test('can be opened by older code, which logs it', async () => {
      const folder = await mkdtemp(join(scratch, 'newer-'))
      await cp(ours, folder, { recursive: true })
      await mkdir(join(folder, '9999_two'))
      await writeFile(join(folder, '9999_two', 'migration.sql'), needing('0001_tables', two).up)
      await migrate(database.url)
      await migrate(database.url, { folder })

      const newer: string[] = []
      const store = await openStore(database.url, { onNewer: (names) => newer.push(...names) })
      await store.close()
      expect(newer).toEqual(['9999_two'])
      const findings = await diagnose(database.url)
      expect(findings.find(({ check }) => check === 'migrations')).toMatchObject({
        status: 'warn',
        found: 'newer than this version: 9999_two',
      })
    })

    test('are not rolled back by older code, nor preceded by a new migration', async () => {
      const newer = { '0001_one': one, '0003_three': needing('0001_one', three) }
      await migrate(database.url, { folder: await folderWith(newer) })
      const error = { code: 'SCHEMA_TOO_NEW', details: { unknown: ['0003_three'] } }
      const older = await folderWith({ '0001_one': one })
      await expect(rollback(database.url, { folder: older })).rejects.toMatchObject(error)
      const astray = await folderWith({ '0001_one': one, '0002_two': two })
      await expect(migrate(database.url, { folder: astray })).rejects.toMatchObject(error)
    })
  })

  test('of Oncue require only earlier ones', async () => {
    for (const { name, needs } of await readMigrations(ours)) {
      expect(await names()).toContain(needs)
      expect(needs <= name).toBe(true)
    }
  })

  describe('are refused', () => {
    test('when an applied one has changed since', async () => {
      await migrate(database.url, { folder: await folderWith({ '0001_one': one }) })
      const catalog = await describeCatalog(database.url)
      const folder = await folderWith({ '0001_one': { ...one, up: `${one.up};` }, '0002_two': two })

      const error = { code: 'MIGRATION_CHANGED', details: { migration: '0001_one' } }
      await expect(migrate(database.url, { folder })).rejects.toMatchObject(error)
      await expect(rollback(database.url, { folder })).rejects.toMatchObject(error)
      expect(await states(folder)).toEqual(['0001_one changed', '0002_two pending'])
      expect(await describeCatalog(database.url)).toEqual(catalog)
    })

    test('when the database was migrated by a newer version that this one is not compatible with', async () => {
      await migrate(database.url, { folder: await folderWith({ '0001_one': one, '0002_two': two }) })
      const folder = await folderWith({ '0001_one': one })

      const error = { code: 'SCHEMA_TOO_NEW', details: { unknown: ['0002_two'] } }
      await expect(migrate(database.url, { folder })).rejects.toMatchObject(error)
      await expect(rollback(database.url, { folder })).rejects.toMatchObject(error)
      await expect(assertMigrated(database.url, { folder })).rejects.toMatchObject(error)
      expect(await states(folder)).toEqual(['0001_one applied', '0002_two breaking'])
    })

    test('by a store that finds them missing', async () => {
      const folder = await folderWith({ '0001_one': one, '0002_two': two })
      await expect(assertMigrated(database.url, { folder })).rejects.toMatchObject({
        code: 'MIGRATION_NEEDED',
        details: { pending: ['0001_one', '0002_two'] },
      })
      await migrate(database.url, { folder: await folderWith({ '0001_one': one }) })
      await expect(assertMigrated(database.url, { folder })).rejects.toMatchObject({
        code: 'MIGRATION_NEEDED',
        details: { pending: ['0002_two'] },
      })
      await migrate(database.url, { folder })
      await assertMigrated(database.url, { folder })
    })
  })

  test('but not when only their line endings changed', async () => {
    const up = `create table ${table('one')} (\n  id integer\n)`
    await migrate(database.url, { folder: await folderWith({ '0001_one': { ...one, up } }) })
    const folder = await folderWith({ '0001_one': { ...one, up: up.replaceAll('\n', '\r\n') } })
    expect(await states(folder)).toEqual(['0001_one applied'])
  })

  describe('that fail', () => {
    const broken = { up: `create table ${table('half')} (id integer);\n\n  insert into nowhere values (1);` }

    test('leave no trace, keep what came before, and report the line', async () => {
      const folder = await folderWith({ '0001_one': one, '0002_broken': broken, '0003_two': two })
      const good = await folderWith({ '0001_one': one })
      const failure = await migrate(database.url, { folder }).catch((error) => error)

      expect(failure).toMatchObject({
        code: 'MIGRATION_FAILED',
        details: { migration: '0002_broken', file: 'migration.sql', line: 3 },
      })
      expect(failure.message).toContain('0002_broken failed at migration.sql:3')
      expect(failure.cause.message).toContain('nowhere')
      expect(await states(good)).toEqual(['0001_one applied'])
      expect((await describeCatalog(database.url)).join('\n')).not.toContain('half')
    })

    test('can be fixed and applied', async () => {
      await migrate(database.url, {
        folder: await folderWith({ '0001_one': one, '0002_two': broken }),
      }).catch(() => {})
      const folder = await folderWith({ '0001_one': one, '0002_two': two })
      expect((await migrate(database.url, { folder })).map(({ name }) => name)).toEqual(['0002_two'])
    })

    test('to roll back stay applied as a whole', async () => {
      const down = `drop table ${table('one')};\ndrop table nowhere`
      const folder = await folderWith({ '0001_one': { ...one, down } })
      await migrate(database.url, { folder })
      const catalog = await describeCatalog(database.url)
      await expect(rollback(database.url, { folder })).rejects.toMatchObject({
        code: 'MIGRATION_FAILED',
        details: { migration: '0001_one', file: 'down.sql', line: 2 },
      })
      expect(await states(folder)).toEqual(['0001_one applied'])
      expect(await describeCatalog(database.url)).toEqual(catalog)
    })

    test('because they have no down.sql say so', async () => {
      const folder = await folderWith({ '0001_one': { up: one.up } })
      await migrate(database.url, { folder })
      await expect(rollback(database.url, { folder })).rejects.toMatchObject({ code: 'MIGRATION_FAILED' })
    })
  })
})

describe('on Postgres', () => {
  let admin: pg.Client

  beforeEach(async () => {
    database = await createEmptyPostgresDatabase(inject('postgresUrl'))
    admin = new pg.Client(database.url)
    await admin.connect()
  })
  afterEach(() => admin.end())

  test('a schema that an administrator made for Oncue is used, and stays', async () => {
    await admin.query('create schema oncue')
    const before = await describeCatalog(database.url)
    await migrate(database.url)
    while (await rollback(database.url));
    expect(await describeCatalog(database.url)).toEqual(before)
  })

  test('foreign objects in the schema stay, and the schema with them', async () => {
    await migrate(database.url)
    await admin.query('create table oncue.notes (note text)')
    while (await rollback(database.url));
    const { rows } = await admin.query(`select tablename from pg_tables where schemaname = 'oncue'`)
    expect(rows).toEqual([{ tablename: 'notes' }])
  })

  test('a role without CREATE can still call migrate when there is nothing to do', async () => {
    await migrate(database.url)
    const role = `oncue_reader_${process.pid}_${Date.now()}`
    await admin.query(`create role ${role} login`)
    await admin.query(`grant usage on schema oncue to ${role}; grant select on oncue.migrations to ${role}`)
    try {
      const url = new URL(database.url)
      url.username = role
      url.password = ''
      expect(await migrate(url.href)).toEqual([])
    } finally {
      await admin.query(`drop owned by ${role}; drop role ${role}`)
    }
  })

  test('the settings of the role do not interfere', async () => {
    const name = new URL(database.url).pathname.slice(1)
    await admin.query(`alter database ${name} set default_transaction_isolation = 'serializable'`)
    await admin.query(`alter database ${name} set default_transaction_read_only = on`)
    await admin.query(`alter database ${name} set search_path = ''`)
    const steps = await Promise.all([migrate(database.url), migrate(database.url), migrate(database.url)])
    expect(steps.flat().length).toBe((await readMigrations(migrationsFolder('postgres'))).length + 1)
  })

  test('a table in use is waited for without blocking later statements on it', async () => {
    await migrate(database.url)
    const folder = await mkdtemp(join(scratch, 'newer-'))
    await cp(migrationsFolder('postgres'), folder, { recursive: true })
    await mkdir(join(folder, '9999_column'))
    await writeFile(
      join(folder, '9999_column', 'migration.sql'),
      'alter table oncue.jobs add column made_up integer',
    )
    await admin.query('begin; select 1 from oncue.jobs')
    const migrating = migrate(database.url, { folder })

    const reader = new pg.Client(database.url)
    await reader.connect()
    try {
      const isWaiting = async () => {
        const { rows } = await reader.query(
          `select 1 from pg_stat_activity where application_name = 'oncue-migrate' and wait_event_type = 'Lock'`,
        )
        return rows.length > 0
      }
      while (!(await isWaiting())) await new Promise(setImmediate)
      // Waits behind the migration, until that backs off.
      await reader.query('select 1 from oncue.jobs')
      await admin.query('commit')
      expect((await migrating).map(({ name }) => name)).toEqual(['9999_column'])
    } finally {
      await reader.end()
    }
  })

  test('another migration in progress is waited for with a time limit, and logged after 5 s', async () => {
    await admin.query(`begin; select pg_advisory_xact_lock(1869505397, hashtext('oncue.migrations'))`)
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    onTestFinished(() => void said.mockRestore())
    await expect(migrate(database.url, { lockTimeoutMs: 6_000 })).rejects.toMatchObject({
      code: 'DATABASE_BUSY',
      message: 'Another migration of this database has not finished within 6 s',
      hint: expect.stringContaining("application_name = 'oncue-migrate'"),
    })
    expect(said.mock.calls).toEqual([
      [expect.stringMatching(/^waiting up to .* for another migration .*\n$/)],
    ])
    await admin.query('commit')
    expect((await migrate(database.url, { lockTimeoutMs: 6_000 })).length).toBeGreaterThan(0)
    expect(said).toHaveBeenCalledTimes(1)
  })

  test('a role without the privileges is told which one it lacks', async () => {
    const role = `oncue_stranger_${process.pid}_${Date.now()}`
    await admin.query(`create role ${role} login`)
    const url = new URL(database.url)
    url.username = role
    url.password = ''
    const attempt = (work: Promise<unknown>, hint: string) =>
      expect(work).rejects.toMatchObject({ code: 'DATABASE_REFUSED', hint: expect.stringContaining(hint) })
    try {
      const name = url.pathname.slice(1)
      await attempt(migrate(url.href), `grant create on database ${name}`)
      await migrate(database.url)
      await attempt(migrate(url.href), 'grant usage on schema oncue')
      await admin.query(`grant usage on schema oncue to ${role}`)
      await attempt(migrate(url.href), 'grant select on table migrations')
      await admin.query(`grant select on oncue.migrations to ${role}`)
      const store = await openStore(url.href)
      await attempt(store.enqueue([prepareJob('mail', null)]), 'on table jobs')
      await store.close()
      await admin.query(`grant create on schema oncue to ${role}`)
      await admin.query(`grant all on all tables in schema oncue to ${role}`)
      const owner = { code: 'DATABASE_REFUSED', hint: expect.stringContaining('owner') }
      await expect(rollback(url.href)).rejects.toMatchObject(owner)
    } finally {
      await admin.query(`drop owned by ${role}; drop role ${role}`)
    }
  })

  test('a rollback names the object that depends on what it would drop', async () => {
    await migrate(database.url)
    await admin.query(
      `create function shop() returns uuid begin atomic select oncue.enqueue('mail', '{}'); end;
       create view waiting as select id from oncue.jobs`,
    )
    const blocked = (object: string) => ({
      code: expect.stringMatching(/^(DATABASE_REFUSED|MIGRATION_FAILED)$/),
      hint: expect.stringContaining(object),
    })
    const before = await describeCatalog(database.url)
    await expect(rollback(database.url)).rejects.toMatchObject(blocked('function public.shop() depends on'))
    expect(await describeCatalog(database.url)).toEqual(before)
    await admin.query('drop function shop()')
    const rest = async () => {
      while (await rollback(database.url));
    }
    await expect(rest()).rejects.toMatchObject(blocked('view public.waiting depends on table oncue.jobs'))
    await admin.query('drop view waiting')
    await rest()
  })

  test('an unreachable server is DATABASE_UNAVAILABLE', async () => {
    const url = new URL(database.url)
    url.port = '1'
    await expect(migrate(url.href)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  })

  test('a missing database is DATABASE_UNAVAILABLE', async () => {
    database = await createEmptyPostgresDatabase(inject('postgresUrl'))
    const url = Object.assign(new URL(database.url), { pathname: '/no_such_database' })
    await expect(migrate(url.href)).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining('no_such_database'),
    })
  })

  test('a server that never replies is DATABASE_UNAVAILABLE after ten seconds', async () => {
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
    onTestFinished(() => void silent.close())
    await once(silent, 'listening')
    const url = new URL(database.url)
    url.port = String((silent.address() as AddressInfo).port)
    url.hostname = '127.0.0.1'
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const refused = expect(migrate(url.href)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    await once(silent, 'connection')
    vi.advanceTimersByTime(10_000)
    await refused
  })
})

describe('on SQLite', () => {
  beforeEach(async () => {
    database = await createEmptySqliteDatabase()
  })

  test('file, journal, locks and folder are private to their user, whatever the umask', async () => {
    const before = process.umask(0)
    onTestFinished(() => void process.umask(before))
    const folder = join(dirname(sqliteFile(database.url)), 'data')
    const store = await openStore(`file:${join(folder, 'oncue.db')}`, { migrate: true })
    const info = { host: 'web-1', pid: 1, queues: ['default'], concurrency: 1, version: '0' }
    const presence = await store.attend({ id: randomUUID(), ...info })
    const modes = new Map<string, string>()
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const { mode } = await stat(join(entry.parentPath, entry.name))
      modes.set(join(entry.parentPath, entry.name).slice(folder.length + 1), (mode & 0o777).toString(8))
    }
    const { mode } = await stat(folder)
    await presence.leave()
    await store.close()
    expect((mode & 0o777).toString(8)).toBe('700')
    const [lock = ''] = [...modes.keys()].filter((name) => name.startsWith('oncue.db-workers/'))
    expect(Object.fromEntries(modes)).toMatchObject({
      'oncue.db': '600',
      'oncue.db-wal': '600',
      'oncue.db-shm': '600',
      'oncue.db-workers': '700',
      [lock]: '600',
    })
  })

  test('an existing file keeps its mode', async () => {
    const file = sqliteFile(database.url)
    await writeFile(file, '')
    await chmod(file, 0o640)
    await migrate(database.url)
    expect(((await stat(file)).mode & 0o777).toString(8)).toBe('640')
  })

  test('the folder of the file is created', async () => {
    const url = `file:${join(dirname(sqliteFile(database.url)), 'a', 'b', 'oncue.db')}`
    await migrate(url)
    await assertMigrated(url)
  })

  test('reading the status of a missing file does not create it', async () => {
    await migrationStatus(database.url)
    await expect(assertMigrated(database.url)).rejects.toMatchObject({ code: 'MIGRATION_NEEDED' })
    expect(await rollback(database.url)).toBeNull()
    expect(existsSync(sqliteFile(database.url))).toBe(false)
  })

  test('a file that another connection holds is waited for, without blocking the event loop', async () => {
    const Driver = await loadDriver()
    const other = new Driver(sqliteFile(database.url))
    other.exec('BEGIN EXCLUSIVE')
    const migrating = migrate(database.url)
    for (let turns = 0; turns < 100; turns++) await new Promise(setImmediate)
    other.exec('COMMIT')
    other.close()
    expect(await migrating).not.toEqual([])
  })

  test('a file that is not a database is not touched', async () => {
    const file = sqliteFile(database.url)
    await writeFile(file, 'Dear diary, '.repeat(100))
    await expect(migrate(database.url)).rejects.toMatchObject({ name: 'OncueError' })
    expect(await readFile(file, 'utf8')).toBe('Dear diary, '.repeat(100))
  })
})
