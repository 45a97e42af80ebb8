import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { buildFunctions, readSources, renderConstant } from '../../../prisma/functions.ts'
import { diagnose } from '../src/diagnose.ts'
import { readMigrations } from '../src/migrate/files.ts'
import type { FunctionSet } from '../src/migrate/functions.ts'
import {
  assertMigrated,
  migrate,
  migrationStatus,
  removeFunctions,
  rollback,
} from '../src/migrate/migrate.ts'
import { migrationsFolder, RELEASE } from '../src/migrate/sources.ts'
import { openStore } from '../src/open.ts'
import { FUNCTION_SET } from '../src/postgres/function-set.ts'
import { fn } from '../src/postgres/sql.ts'
import type { Store } from '../src/store.ts'
import { aJob, newWorkerId } from './conformance/harness.ts'
import { createEmptyPostgresDatabase, createPostgresDatabase, type TestDatabase } from './support/index.ts'
import { PGBOUNCER, startPgBouncer } from './support/pgbouncer-server.ts'

const sources = await readSources()

/** The functions of another build: its cancel records the actor in capitals. */
const others: FunctionSet = buildFunctions({
  ...sources,
  cancel: String(sources.cancel).replace(
    `json_build_object('by', p_by)`,
    `json_build_object('by', upper(p_by))`,
  ),
})

describe('a set of functions is built', () => {
  const one = `create function oncue.one() returns integer\n  language sql\n  return oncue.two();\n`
  const two = `-- Two.\ncreate function oncue.two() returns integer\n  language plpgsql\nas $$ begin return {{n}}; end $$;\n`

  test('with planner settings, column lists, and dependencies first', () => {
    const { sql } = buildFunctions({ one: `-- planner: none\n${one}`, two }, { columns: { n: '2' } })
    const [, first, second] = sql.split('\n\n')
    expect(first).toContain('create function oncue.two()')
    expect(first).toContain('set enable_seqscan = off')
    expect(first).toContain('return 2;')
    expect(second).toBe(one.trimEnd())
  })

  test('with the settings that a source asks for', () => {
    const build = (planner: string) => buildFunctions({ two: planner + two }, { columns: { n: '2' } }).sql
    const path = '  set search_path = pg_catalog, pg_temp'
    expect(build('-- planner: default\n').match(/^ {2}set .*$/gm)).toEqual([path])
    expect(build('-- planner: jit = off\n').match(/^ {2}set .*$/gm)).toEqual([path, '  set jit = off'])
    expect(build('-- planner: standard, enable_sort = off\n').match(/^ {2}set .*$/gm)).toHaveLength(8)
  })

  test('for a schema, with the same hash in all schemas', () => {
    const here = buildFunctions({ one, two }, { columns: { n: '2' } })
    const there = buildFunctions({ one, two }, { columns: { n: '2' }, schema: 'jobs' })
    expect(there.hash).toBe(here.hash)
    expect(there.install).toContain(`return jobs.two_${here.hash}()`)
    expect(there.install).not.toContain('oncue.')
    expect(buildFunctions({ one, two }, { columns: { n: '3' } }).hash).not.toBe(here.hash)
  })

  test('and refused with a wrong name, an unknown list, or a cycle', () => {
    expect(() => buildFunctions({ three: one })).toThrow('functions/three.sql must create oncue.three')
    expect(() => buildFunctions({ two })).toThrow('functions/two.sql: nothing is known as {{n}}')
    const circle = one.replaceAll('one', 'x').replaceAll('two', 'one').replaceAll('x', 'two')
    expect(() => buildFunctions({ one, two: circle })).toThrow('need each other')
  })
})

test('a SQLite file that does not exist has no functions to remove', async () => {
  const url = `file:${join(tmpdir(), crypto.randomUUID())}.db`
  await expect(removeFunctions(url, '00000000')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

describe('the functions of a database', () => {
  let database: TestDatabase
  let admin: pg.Client

  beforeEach(async () => {
    database = await createEmptyPostgresDatabase(inject('postgresUrl'))
    admin = new pg.Client(database.url)
    await admin.connect()
  })
  afterEach(async () => {
    await admin.end()
    await database.drop()
  })

  const namesOf = async (hash: string) => {
    const { rows } = await admin.query(
      `select proname as name from pg_proc where proname like '%\\_' || $1
       union all select typname from pg_type where typname like '%\\_' || $1`,
      [hash],
    )
    return rows.map(({ name }) => String(name))
  }
  const makeOld = () =>
    admin.query(`update oncue.function_sets set last_seen = last_seen - interval '7 days 1 minute'`)
  const lastSeen = async () => {
    const { rows } = await admin.query('select last_seen from oncue.function_sets where hash = $1', [
      FUNCTION_SET,
    ])
    return rows[0].last_seen as Date
  }

  test('are those of the sources, in any schema', async () => {
    await migrate(database.url)
    await admin.query('create schema scratch')
    for (const { up } of await readMigrations(migrationsFolder('postgres')))
      await admin.query(up.replaceAll('oncue.', 'scratch.'))
    await admin.query(buildFunctions(sources, { schema: 'scratch' }).install)
    const catalogOf = async (schema: string) => {
      const { rows } = await admin.query(
        `select proname as name, pg_get_functiondef(oid) as text, proconfig as settings
         from pg_proc where pronamespace = $1::regnamespace
         union all
         select typname, (select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum)
           from pg_attribute where attrelid = typrelid), null
         from pg_type where typnamespace = $1::regnamespace and typname like 'work_row%'
         order by 1`,
        [schema],
      )
      // The notification channel is that of the schema, too.
      const names = new RegExp(`\\b${schema}(\\.|(?='))`, 'g')
      return rows.map(({ text, ...row }) => ({ ...row, text: String(text).replaceAll(names, '') }))
    }
    const installed = await catalogOf('oncue')
    expect(installed.length).toBeGreaterThan(Object.keys(sources).length)
    expect(await catalogOf('scratch')).toEqual(installed)
  })

  test('that are missing are reported as MIGRATION_NEEDED, at the start and later', async () => {
    await migrate(database.url, { folder: migrationsFolder('postgres') })
    const pending = [`functions_${FUNCTION_SET}`]
    await expect(openStore(database.url)).rejects.toMatchObject({
      code: 'MIGRATION_NEEDED',
      details: { pending },
    })
    expect(await diagnose(database.url)).toContainEqual(
      expect.objectContaining({ check: 'migrations', status: 'fail', found: `pending: ${pending}` }),
    )
    const store = await openStore(database.url, { migrate: true })
    await admin.query(`alter function ${fn('claim')} rename to moved`)
    const claim = { worker: newWorkerId(), leaseMs: 1_000, queues: ['default'], limit: 1 }
    await expect(store.claim(claim)).rejects.toMatchObject({ code: 'MIGRATION_NEEDED' })
    await store.close()
  })

  test('are listed, and removed when they are not in use', async () => {
    await migrate(database.url)
    await migrate(database.url, { functions: others })
    expect(await migrationStatus(database.url)).toMatchObject({
      functions: [
        { hash: FUNCTION_SET, state: 'current', release: RELEASE, lastSeen: expect.any(Date) },
        { hash: others.hash, state: 'other', release: RELEASE, lastSeen: expect.any(Date) },
      ],
    })
    expect(await namesOf(others.hash)).toHaveLength((await namesOf(FUNCTION_SET)).length)

    const refused = { code: 'INVALID_STATE', details: { hash: others.hash } }
    await expect(removeFunctions(database.url, others.hash)).rejects.toMatchObject(refused)
    await makeOld()
    await expect(removeFunctions(database.url, FUNCTION_SET)).rejects.toMatchObject({ code: 'INVALID_STATE' })
    await expect(removeFunctions(database.url, '00000000')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await removeFunctions(database.url, others.hash)
    expect(await namesOf(others.hash)).toEqual([])
    await assertMigrated(database.url)
  })

  test('are removed before the tables that they need', async () => {
    await migrate(database.url)
    await migrate(database.url, { functions: others })
    await rollback(database.url)
    expect(await namesOf(others.hash)).toEqual([])
    expect(await namesOf(FUNCTION_SET)).toEqual([])
    while (await rollback(database.url));
    expect((await admin.query(`select to_regnamespace('oncue') as schema`)).rows).toEqual([{ schema: null }])
  })

  test('are marked as seen by workers and APIs, at most once an hour, and not by producers', async () => {
    await migrate(database.url)
    const installed = await lastSeen()
    const first = await openStore(database.url)
    await first.rescue()
    await first.close()
    expect(await lastSeen()).toEqual(installed)

    await makeOld()
    const old = await lastSeen()
    const store = await openStore(database.url)
    await store.enqueue([aJob()])
    expect(await lastSeen()).toEqual(old)
    await store.lead('maintenance', 'api-1', 1_000)
    await expect.poll(lastSeen).not.toEqual(old)
    await makeOld()
    const older = await lastSeen()
    await store.rescue()
    await store.close()
    expect(await lastSeen()).toEqual(older)
  })

  test('can be called by every role that could call the previous ones, whatever the default privileges', async () => {
    await migrate(database.url)
    const role = `oncue_caller_${process.pid}_${Date.now()}`
    await admin.query(`create role ${role}`)
    onTestFinished(async () => {
      const client = new pg.Client(inject('postgresUrl'))
      await client.connect()
      await client.query(`drop role ${role}`)
      await client.end()
    })
    await admin.query(`grant usage on schema oncue to ${role}`)
    await admin.query('alter default privileges revoke execute on functions from public')
    await migrate(database.url, { functions: others })
    const mayCall = async (name: string) => {
      const { rows } = await admin.query('select has_function_privilege($1, $2, $3) as may', [
        role,
        name,
        'execute',
      ])
      return rows[0].may as boolean
    }
    const call = `oncue.tend_${others.hash}(timestamptz)`
    expect(await mayCall(call)).toBe(true)

    await admin.query('revoke execute on all functions in schema oncue from public')
    const third = buildFunctions({ ...sources, tend: `${sources.tend}\n-- Another.\n` })
    await migrate(database.url, { functions: third })
    expect(await mayCall(`oncue.tend_${third.hash}(timestamptz)`)).toBe(false)
    await admin.query(`grant execute on all functions in schema oncue to ${role}`)
    const fourth = buildFunctions({ ...sources, tend: `${sources.tend}\n-- One more.\n` })
    await migrate(database.url, { functions: fourth })
    expect(await mayCall(`oncue.tend_${fourth.hash}(timestamptz)`)).toBe(true)
    await admin.query(`drop owned by ${role}`)
  })
})

describe.each([
  { way: 'directly', pooled: false },
  { way: 'through PgBouncer in transaction mode', pooled: true },
])('two builds on one database, $way', ({ pooled }) => {
  test.skipIf(pooled && !PGBOUNCER)('each call their own functions', async () => {
    const database = await createPostgresDatabase(inject('postgresUrl'))
    const bouncer = pooled ? await startPgBouncer(inject('postgresUrl')) : null
    const url = bouncer?.through(database.url) ?? database.url
    const otherOpenStore = await buildOther()
    const ours = await openStore(url)
    const theirs = await otherOpenStore(url, { migrate: true })
    const work = async (store: Store, by: string, queue: string) => {
      const worker = newWorkerId()
      for (let n = 0; n < 10; n++) {
        const [cancelled = '', done = ''] = await store.enqueue([aJob({ queue }), aJob({ queue })])
        await store.cancel([cancelled], { by: 'ann' })
        const events = await store.events.list(cancelled)
        expect(events.map(({ type, data }) => [type, data])).toEqual([['cancelled', { by }]])
        const { jobs } = await store.claim({ worker, leaseMs: 60_000, queues: [queue], limit: 5 })
        expect(jobs.map(({ id }) => id)).toEqual([done])
        await store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'complete' })))
      }
    }
    // More at once than the pooler has connections, so that builds reuse each other's.
    await Promise.all(
      ['a', 'b', 'c', 'd'].flatMap((queue) => [
        work(ours, 'ann', `ours-${queue}`),
        work(theirs, 'ANN', `theirs-${queue}`),
      ]),
    )
    expect(await ours.stats()).toMatchObject({ completed: 80, cancelled: 80 })
    await ours.close()
    await theirs.close()
    await bouncer?.forget(url)
    await bouncer?.stop()
    await database.drop()
  })
})

/** The sources of packages/db with other functions, like an installation of another version. */
async function buildOther(): Promise<typeof openStore> {
  const root = await mkdtemp(join(tmpdir(), 'oncue-build-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const here = fileURLToPath(new URL('../../../', import.meta.url))
  await mkdir(join(root, 'packages/db'), { recursive: true })
  await cp(join(here, 'packages/db/src'), join(root, 'packages/db/src'), { recursive: true })
  await cp(join(here, 'packages/db/package.json'), join(root, 'packages/db/package.json'))
  await symlink(join(here, 'packages/db/node_modules'), join(root, 'packages/db/node_modules'))
  await cp(join(here, 'prisma/postgres/migrations'), join(root, 'prisma/postgres/migrations'), {
    recursive: true,
  })
  await writeFile(join(root, 'prisma/postgres/functions.sql'), others.sql)
  await writeFile(join(root, 'packages/db/src/postgres/function-set.ts'), renderConstant(others))
  const module = await import(/* @vite-ignore */ pathToFileURL(join(root, 'packages/db/src/open.ts')).href)
  return module.openStore as (url: string) => Promise<Store>
}
