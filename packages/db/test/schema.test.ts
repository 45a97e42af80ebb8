import { createHash } from 'node:crypto'
import { isOncueError } from '@oncue/core'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { buildFunctions, readSources } from '../../../prisma/functions.ts'
import { openControl } from '../src/control/index.ts'
import { diagnose } from '../src/diagnose.ts'
import { readMigrations } from '../src/migrate/files.ts'
import { installable, readFunctions } from '../src/migrate/functions.ts'
import { migrate, migrationStatus, previewRollback, rollback } from '../src/migrate/migrate.ts'
import { migrationsFolder } from '../src/migrate/sources.ts'
import { type OpenOptions, openStore } from '../src/open.ts'
import { createQueue } from '../src/queue/queue.ts'
import { renameTo, toSchema } from '../src/schema.ts'
import type { Store } from '../src/store.ts'
import { sqliteFile } from '../src/url.ts'
import { aJob, claiming, claimOne, complete, newWorkerId, read } from './conformance/harness.ts'
import {
  createEmptyPostgresDatabase,
  createEmptySqliteDatabase,
  describeCatalog,
  type TestDatabase,
} from './support/index.ts'
import { openPool } from './support/postgres-pool.ts'
import { withClient } from './support/postgres-transactions.ts'
import { hosts, jobs } from './support/queue-hosts.ts'

const codeOf = (error: unknown) => (isOncueError(error) ? error.code : error)

describe('the name of a schema', () => {
  test.each(['billing', '_b', 'oncue_eu', 'a', 'x'.repeat(32), 'events', 'main', 'name'])(
    '%s is accepted',
    (name) => {
      expect(toSchema(name)).toBe(name)
    },
  )

  test.each([
    ...[
      '',
      'Billing',
      'bil-ling',
      'bil ling',
      '1st',
      'größe',
      'a"b',
      "a'b",
      'a.b',
      'a;b',
      'a$b',
      'x'.repeat(33),
    ],
    ...[
      'public',
      'information_schema',
      'pg_catalog',
      'pg_mine',
      'sqlite',
      'sqlite_x',
      'plpgsql',
      'order',
      'user',
    ],
    ...([null, 1, {}, ['billing']] as unknown as string[]),
  ])('%s is refused', async (name) => {
    const refused = { code: 'INVALID_SCHEMA' }
    expect(() => toSchema(name)).toThrow(expect.objectContaining(refused))
    expect(() => createQueue({ jobs, database: new Database(':memory:'), schema: name })).toThrow(
      expect.objectContaining(refused),
    )
    for (const url of ['file:/nowhere/oncue.db', 'postgres://nowhere.invalid/app']) {
      await expect(openStore(url, { schema: name })).rejects.toMatchObject(refused)
      await expect(migrate(url, { schema: name })).rejects.toMatchObject(refused)
    }
  })

  test('cannot be a keyword of Postgres', async () => {
    const { rows } = await withClient(inject('postgresUrl'), (client) =>
      client.query<{ word: string }>(`select word from pg_get_keywords() where quote_ident(word) <> word`),
    )
    expect(rows.length).toBeGreaterThan(100)
    for (const { word } of rows) expect(() => toSchema(word), word).toThrow('reserved')
  })
})

describe('statements are renamed', () => {
  const toBilling = renameTo('billing', 'postgres')

  test.each([
    [
      'select oncue.clock(), "oncue"."Status" from oncue.jobs',
      'select billing.clock(), "billing"."Status" from billing.jobs',
    ],
    [
      `select 'oncue.slots'::regclass, 'oncue'::regnamespace`,
      `select 'billing.slots'::regclass, 'billing'::regnamespace`,
    ],
    [
      `select pg_notify('oncue', q), pg_notify('oncue.events', q)`,
      `select pg_notify('billing', q), pg_notify('billing.events', q)`,
    ],
    [
      `create schema oncue; select to_regnamespace('oncue')`,
      `create schema billing; select to_regnamespace('billing')`,
    ],
    ['oncue.claim_12ab34cd', 'billing.claim_12ab34cd'],
    [`select 'oncue', 'oncue:notify', 'a_oncue.b', 'oncue-migrate' from app.oncue`, null],
  ])('Postgres: %s', (written, renamed) => {
    expect(toBilling(written)).toBe(renamed ?? written)
    expect(toBilling(toBilling(written))).toBe(renamed ?? written)
  })

  test('SQLite: tables and indexes', () => {
    const toEu = renameTo('oncue_eu', 'sqlite')
    expect(toEu('SELECT "oncue_jobs".id, oncue_keys.key FROM oncue_jobs INDEXED BY oncue_jobs_ready')).toBe(
      'SELECT "oncue_eu_jobs".id, oncue_eu_keys.key FROM oncue_eu_jobs INDEXED BY oncue_eu_jobs_ready',
    )
    expect(toEu(`SELECT 'oncue', 'oncue:notify', 'noncue_jobs'`)).toBe(
      `SELECT 'oncue', 'oncue:notify', 'noncue_jobs'`,
    )
  })

  test('but not for the default name', () => {
    const text = 'select oncue.clock()'
    expect(renameTo('oncue', 'postgres')(text)).toBe(text)
    expect(renameTo('oncue', 'sqlite')).toBe(renameTo('oncue', 'postgres'))
  })

  test('in all migrations and functions, except in data', async () => {
    for (const dialect of ['postgres', 'sqlite'] as const) {
      const rename = renameTo('billing', dialect)
      for (const { up, down } of await readMigrations(migrationsFolder(dialect)))
        expect(rename(`${up}${down}`)).not.toMatch(/\boncue/)
    }
    const functions = installable(await readFunctions(), 'billing')
    // Oncue's own queue and topics.
    expect(functions.replaceAll(/'oncue(:%?)?'/g, '')).not.toMatch(/\boncue/)
    const locks = functions.match(/advisory\w*lock\w*\([^,]*/g) ?? []
    expect(locks.length).toBeGreaterThan(2)
    for (const lock of locks) expect(lock).toMatch(/\('billing\.\w+'::regclass::int$/)
  })

  test('on SQLite to names that no two installations share', async () => {
    const migrations = await readMigrations(migrationsFolder('sqlite'))
    const made = migrations.flatMap(({ up }) => [...up.matchAll(/^CREATE (?:UNIQUE )?\w+ "oncue_(\w+)"/gm)])
    const names = ['migrations', ...made.map(([, name]) => String(name))]
    expect(names.length).toBeGreaterThan(50)
    // With both `jobs` and `x_jobs`, `jobs` of the schema `a_x` would be the same table as `x_jobs` of the schema `a`.
    for (const name of names) expect(names.filter((other) => other.endsWith(`_${name}`))).toEqual([])
  })
})

const dialects = [
  {
    name: 'Postgres',
    create: () => createEmptyPostgresDatabase(inject('postgresUrl')),
    table: (schema: string, table: string) => `${schema}.${table}`,
  },
  {
    name: 'SQLite',
    create: createEmptySqliteDatabase,
    table: (schema: string, table: string) => `${schema}_${table}`,
  },
] as const

/** The third begins with the first: on SQLite one prefix contains the other. */
const SCHEMAS = ['oncue', 'billing', 'oncue_eu'] as const

describe.each(dialects)('installations share one database: $name', ({ name, create, table }) => {
  let database: TestDatabase
  const stores: Store[] = []

  beforeEach(async () => {
    database = await create()
  })
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close()
    await database.drop()
  })

  async function open(schema: string, options: OpenOptions = {}): Promise<Store> {
    const store = await openStore(database.url, { schema, migrate: true, ...options })
    stores.push(store)
    return store
  }

  test('ten processes migrate several schemas at once, and all succeed', async () => {
    const wanted = Array.from({ length: 10 }, (_, i) => SCHEMAS[i % SCHEMAS.length] ?? 'oncue')
    const steps = await Promise.all(wanted.map((schema) => migrate(database.url, { schema })))
    for (const schema of SCHEMAS) {
      const done = steps.filter((_, i) => wanted[i] === schema).flat()
      const { migrations } = await migrationStatus(database.url, { schema })
      expect(migrations.every(({ state }) => state === 'applied')).toBe(true)
      expect(new Set(done.map((step) => step.name)).size).toBe(done.length)
    }
  })

  test('each has its own ledger: a schema that is not installed is not found', async () => {
    await migrate(database.url, { schema: 'billing' })
    await expect(openStore(database.url)).rejects.toMatchObject({ code: 'MIGRATION_NEEDED' })
    await expect(openStore(database.url, { schema: 'missing' })).rejects.toMatchObject({
      code: 'MIGRATION_NEEDED',
      hint: 'Run `npx oncue migrate --schema missing` against this database.',
    })
    const { migrations } = await migrationStatus(database.url)
    expect(migrations.every(({ state }) => state === 'pending')).toBe(true)
    const store = await open('billing', { migrate: false })
    expect(store.schema).toBe('billing')
  })

  test('a job is seen, claimed, searched and settled only in its own installation', async () => {
    const [first, second, third] = await Promise.all(SCHEMAS.map((schema) => open(schema)))
    if (!first || !second || !third) throw new Error('three were opened')
    const [id = ''] = await first.enqueue([aJob({ meta: { tenant: 'a' } })])
    for (const other of [second, third]) {
      expect((await other.claim(claiming())).jobs).toEqual([])
      expect(await other.get(id)).toBeNull()
      expect(await other.stats()).toMatchObject({ pending: 0 })
      expect((await other.list({ meta: { tenant: 'a' } }, {})).items).toEqual([])
    }
    const job = await claimOne(first)
    await first.settle([complete(job)])
    expect(await read(first, id)).toMatchObject({ status: 'completed' })
    // The same id in all of them.
    await second.enqueue([{ ...aJob(), id }])
    await third.enqueue([{ ...aJob(), id }])
    expect(await read(second, id)).toMatchObject({ status: 'pending' })
    expect((await third.claim(claiming())).jobs).toMatchObject([{ id }])
  })

  test('keys, limits, leaders, schedules and queues belong to one installation', async () => {
    const [a, b] = [await open('oncue'), await open('billing')]
    const keyed = () => aJob({ unique: { key: 'once' }, idempotencyKey: 'key' })
    const [one = ''] = await a.enqueue([keyed()])
    const [two = ''] = await b.enqueue([keyed()])
    expect(two).not.toBe(one)
    expect(await b.enqueue([keyed()])).toEqual([two])

    const limited = () => aJob({ queue: 'limited', concurrencyKey: 'tenant', concurrencyLimit: 1 })
    for (const store of [a, b]) await store.enqueue([limited(), limited()])
    for (const store of [a, b])
      expect((await store.claim(claiming({ queues: ['limited'] }))).jobs).toHaveLength(1)

    const worker = newWorkerId()
    expect(await a.lead('maintenance', worker, 60_000)).toBe(true)
    expect(await b.lead('maintenance', newWorkerId(), 60_000)).toBe(true)

    await a.pause('default')
    const schedule = {
      name: 'nightly',
      cron: '0 * * * *',
      timezone: 'UTC',
      topic: 'report',
      payload: {},
    } as const
    await a.schedules.save({ ...schedule, options: {}, missed: 'one', source: 'database' })
    expect(await b.schedules.list()).toEqual([])
    await b.schedules.save({ ...schedule, options: {}, missed: 'one', source: 'database', cron: '5 * * * *' })
    expect(await a.schedules.list()).toMatchObject([{ cron: '0 * * * *' }])
    expect((await b.queues()).some(({ paused }) => paused)).toBe(false)
  })

  test('Control lists and edits only its own rows', async () => {
    const [a, b] = [await open('oncue'), await open('oncue_eu')]
    const [here, there] = [await openControl(a), await openControl(b)]
    await there.settings.change({ set: { httpEnabled: false }, by: 'ada' })
    expect(await here.settings.all()).toEqual([])
    expect(await there.settings.all()).toMatchObject([{ key: 'httpEnabled', value: false, updatedBy: 'ada' }])
    await here.settings.change({ set: { httpEnabled: true } })
    expect(await there.settings.all()).toMatchObject([{ value: false }])

    const hash = createHash('sha256').update('secret').digest('hex')
    await here.tokens.create({ kind: 'token', name: 'ci', role: 'admin', hash })
    expect(await here.tokens.list()).toHaveLength(1)
    expect(await there.tokens.list()).toEqual([])
    expect(await b.tokens.find(hash)).toBeNull()
    // Both may have the same secret.
    await there.tokens.create({ kind: 'token', name: 'ci', role: 'viewer', hash })
    expect(await b.tokens.find(hash)).toMatchObject({ role: 'viewer' })
    expect(await a.tokens.find(hash)).toMatchObject({ role: 'admin' })
  })

  test('an enqueue wakes only workers of its own installation', async () => {
    const [a, b] = [await open('oncue'), await open('billing')]
    const woken = { a: 0, b: 0 }
    const heard = [await a.onWake(['default'], () => woken.a++), await b.onWake(['default'], () => woken.b++)]
    const before = { ...woken }
    await b.enqueue([aJob()])
    await expect.poll(() => woken.b).toBeGreaterThan(before.b)
    // Watchers of a SQLite file see every write to it: there a wake-up only hints that something changed.
    if (name === 'Postgres') expect(woken.a).toBe(before.a)
    expect((await a.claim(claiming())).jobs).toEqual([])
    for (const subscription of heard) await subscription.close()
  })

  test('the death of a worker is noticed only in its own installation', async () => {
    const [a, b] = [await open('oncue'), await open('billing')]
    const info = { host: 'here', pid: 1, queues: ['default'], concurrency: 1, version: '0' }
    const presence = await a.attend({ id: newWorkerId(), ...info })
    expect(await a.workers()).toHaveLength(1)
    expect(await b.workers()).toEqual([])
    await b.rescue()
    expect(await a.workers()).toHaveLength(1)
    await presence.leave()
  })

  test('a rollback of one leaves the others and their data intact', async () => {
    for (const schema of SCHEMAS) await migrate(database.url, { schema })
    const [a, b, c] = [await open('oncue'), await open('billing'), await open('oncue_eu')]
    const [kept = ''] = await a.enqueue([aJob({ unique: { key: 'x' } })])
    await c.enqueue([aJob()])
    await b.enqueue([aJob()])
    const preview = await previewRollback(database.url, { schema: 'billing' })
    expect(preview?.lost.every((lost) => lost.table.startsWith(table('billing', '')))).toBe(true)
    const others = async () =>
      (await describeCatalog(database.url)).filter((line) => !/\bbilling/.test(line) && !/\bpg_/.test(line))
    const before = await others()
    while ((await rollback(database.url, { schema: 'billing' })) !== null);
    expect(await others()).toEqual(before)
    expect((await describeCatalog(database.url)).filter((line) => /\bbilling/.test(line))).toEqual([])
    expect(await read(a, kept)).toMatchObject({ status: 'pending' })
    await a.settle([complete(await claimOne(a))])
    expect((await c.claim(claiming())).jobs).toHaveLength(1)
    await migrate(database.url, { schema: 'billing' })
    expect(await (await open('billing')).stats()).toMatchObject({ pending: 0 })
  })

  test('doctor checks only its own installation', async () => {
    await migrate(database.url, { schema: 'billing' })
    const findings = await diagnose(database.url, { schema: 'billing' })
    expect(findings.filter(({ status, check }) => status === 'fail' && check !== 'disk space')).toEqual([])
    expect(findings.find(({ check }) => check === 'claim plan')?.found).toMatch(/jobs_ready/)
    expect(await diagnose(database.url)).toContainEqual(
      expect.objectContaining({ check: 'migrations', status: 'fail' }),
    )
    expect(await diagnose(database.url, { schema: 'No' })).toMatchObject([
      { check: 'database', status: 'fail' },
    ])
  })

  const dialect = name === 'Postgres' ? 'postgres' : 'sqlite'
  test.each(hosts.filter((host) => host.dialect === dialect))(
    '$name: a queue writes into its own schema',
    async (host) => {
      const [a, b] = [await open('oncue'), await open('oncue_eu')]
      const service = host.open(database.url, 'oncue_eu')
      try {
        const one = await service.queue.enqueue('mail_digest', { userId: '1' })
        const two = await service.queue.enqueue(
          'mail_digest',
          { userId: '2' },
          { unique: { key: 'k' }, after: [one] },
        )
        let enqueuing = Promise.resolve('')
        await service.transaction((tx) => {
          enqueuing = service.queue.enqueue('check_payment', { orderId: '3' }, { tx, idempotencyKey: 'i' })
          return enqueuing
        })
        const three = await enqueuing
        for (const id of [one, two, three]) {
          expect(await b.get(id)).toMatchObject({ id })
          expect(await a.get(id)).toBeNull()
        }
      } finally {
        await service.close()
      }
    },
  )

  test.each(hosts.filter((host) => host.dialect === dialect))(
    '$name: the error names the schema that is not installed',
    async (host) => {
      await open('oncue')
      const service = host.open(database.url, 'oncue_eu')
      try {
        const enqueuing = (async () => service.queue.enqueue('mail_digest', { userId: '1' }))()
        await expect(enqueuing).rejects.toMatchObject({
          code: 'MIGRATION_NEEDED',
          hint: 'Run `npx oncue migrate --schema oncue_eu` against this database.',
        })
      } finally {
        await service.close()
      }
    },
  )

  test('a queue over a store uses the schema of the store, and refuses another', async () => {
    const store = await open('billing')
    const id = await createQueue({ jobs, store }).enqueue('mail_digest', { userId: '1' })
    expect(await store.get(id)).toMatchObject({ id })
    expect(() => createQueue({ jobs, store, schema: 'oncue' })).toThrow('the store has the schema billing')
  })
})

describe('one pool for two installations on Postgres', () => {
  test('prepares the statements of both', async () => {
    const database = await createEmptyPostgresDatabase(inject('postgresUrl'))
    const pool = openPool({ connectionString: database.url, max: 1 })
    try {
      const ids: string[] = []
      for (const schema of ['oncue', 'billing']) {
        await migrate(database.url, { schema })
        for (let n = 0; n < 2; n++)
          ids.push(await createQueue({ jobs, pool, schema }).enqueue('mail_digest', { userId: schema }))
      }
      const { rows } = await pool.query(
        `select 'o' as where, id from oncue.jobs union all select 'b', id from billing.jobs`,
      )
      expect(
        rows
          .filter((row) => row.where === 'o')
          .map((row) => row.id)
          .sort(),
      ).toEqual(ids.slice(0, 2).sort())
      expect(
        rows
          .filter((row) => row.where === 'b')
          .map((row) => row.id)
          .sort(),
      ).toEqual(ids.slice(2).sort())
      const { rows: names } = await pool.query('select name from pg_prepared_statements order by name')
      expect(names.map((row) => row.name)).toEqual([
        expect.stringMatching(/^billing\.enqueue_[0-9a-f]{8}$/),
        expect.stringMatching(/^oncue\.enqueue_[0-9a-f]{8}$/),
      ])
    } finally {
      await pool.end()
      await database.drop()
    }
  })

  test('has the SQL API of each, which wakes its own workers', async () => {
    const database = await createEmptyPostgresDatabase(inject('postgresUrl'))
    const [a, b] = await Promise.all(
      ['oncue', 'billing'].map((schema) => openStore(database.url, { schema, migrate: true })),
    )
    if (!a || !b) throw new Error('two were opened')
    try {
      const woken: string[] = []
      await a.onWake(['default'], () => woken.push('oncue'))
      await b.onWake(['default'], () => woken.push('billing'))
      woken.length = 0
      const id = await withClient(database.url, async (client) => {
        const { rows } = await client.query(`select billing.enqueue('mail_digest', '{"userId": "1"}') as id`)
        return String(rows[0]?.id)
      })
      await expect.poll(() => woken).toEqual(['billing'])
      expect((await b.claim(claiming())).jobs).toMatchObject([{ id, topic: 'mail_digest' }])
      expect((await a.claim(claiming())).jobs).toEqual([])
    } finally {
      await a.close()
      await b.close()
      await database.drop()
    }
  })

  test('a migration that fails names the line of its file', async () => {
    const database = await createEmptyPostgresDatabase(inject('postgresUrl'))
    try {
      await withClient(database.url, (client) =>
        client.query('create schema a_rather_long_name; create table a_rather_long_name.jobs ()'),
      )
      const failing = migrate(database.url, { schema: 'a_rather_long_name' })
      expect(await failing.catch(codeOf)).toBe('MIGRATION_FAILED')
    } finally {
      await database.drop()
    }
  })
})

test('functions are granted to a role whose name begins like the default schema', async () => {
  const database = await createEmptyPostgresDatabase(inject('postgresUrl'))
  const role = `"oncue.app_${process.pid}_${Date.now()}"`
  try {
    await migrate(database.url, { schema: 'billing' })
    await withClient(database.url, (client) =>
      client.query(`create role ${role}; revoke execute on all functions in schema billing from public;
        grant execute on all functions in schema billing to ${role}`),
    )
    const sources = await readSources()
    const functions = buildFunctions({ ...sources, tend: `${sources.tend}\n-- Another.\n` })
    await migrate(database.url, { schema: 'billing', functions })
    const { rows } = await withClient(database.url, (client) =>
      client.query('select has_function_privilege($1, $2, $3) as may', [
        role.slice(1, -1),
        `billing.tend_${functions.hash}(timestamptz)`,
        'execute',
      ]),
    )
    expect(rows).toEqual([{ may: true }])
  } finally {
    await withClient(database.url, (client) => client.query(`drop owned by ${role}; drop role ${role}`))
    await database.drop()
  }
})

test('a file may have tables with a prefix that is another schema name', async () => {
  const database = await createEmptySqliteDatabase()
  await migrate(database.url, { schema: 'oncue_eu' })
  await migrate(database.url)
  const db = new Database(sqliteFile(database.url), { readonly: true })
  const count = (prefix: string) =>
    db.prepare('select count(*) from sqlite_schema where name glob ?').pluck().get(`${prefix}_*`)
  expect(count('oncue')).toBe(2 * Number(count('oncue_eu')))
  db.close()
  await database.drop()
})
