import { chmod } from 'node:fs/promises'
import { dirname } from 'node:path'
import { prepareJob } from '@oncue/core'
import { Relay } from '@oncue/testing'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { diagnose } from '../src/diagnose.ts'
import { rollback } from '../src/migrate/migrate.ts'
import { openStore } from '../src/open.ts'
import {
  createEmptySqliteDatabase,
  createPostgresDatabase,
  createSqliteDatabase,
  type TestDatabase,
} from './support/index.ts'

let database: TestDatabase
afterEach(() => database.drop())

const find = async (check: string) =>
  (await diagnose(database.url)).find((finding) => finding.check === check)

describe.each([
  [
    'Postgres',
    () => createPostgresDatabase(inject('postgresUrl')),
    [
      'version',
      'clock',
      'pooler',
      'isolation',
      'connections',
      'oldest transaction',
      'checkpoints',
      'claim plan',
      'indexes',
      'dead rows',
      'size',
      'oldest rows',
    ],
  ],
  [
    'SQLite',
    createSqliteDatabase,
    ['version', 'clock', 'journal', 'permissions', 'disk space', 'free pages', 'claim plan', 'oldest rows'],
  ],
])('a diagnosis of %s', (_, create, checks) => {
  beforeEach(async () => {
    database = await create()
  })

  test('reports a fresh one as healthy', async () => {
    const findings = await diagnose(database.url)
    expect(findings.map(({ check }) => check)).toEqual(['database', 'migrations', ...checks])
    // What else goes on, on this machine or server, is not this test's doing.
    const shared = new Set(['disk space', 'connections', 'oldest transaction', 'checkpoints'])
    for (const finding of findings.filter(({ check }) => !shared.has(check))) {
      expect(finding).toMatchObject({ status: 'ok', advice: null })
    }
  })

  test('says how old the oldest jobs are', async () => {
    expect(await find('oldest rows')).toMatchObject({ found: 'live job: none; finished job: none' })
    const store = await openStore(database.url)
    await store.enqueue([prepareJob('mail', {})])
    await store.close()
    expect(await find('oldest rows')).toMatchObject({
      found: expect.stringMatching(/^live job: .+ old; finished job: none$/),
    })
  })

  test('names the migrations that are pending, and looks at no table then', async () => {
    await rollback(database.url)
    expect(await find('migrations')).toMatchObject({
      status: 'fail',
      found: expect.stringMatching(/^pending: \d{4}_\w+/),
      advice: expect.stringContaining('npx oncue migrate'),
    })
    expect(await find('claim plan')).toBeUndefined()
    const other = await diagnose(database.url, { schema: 'other' })
    expect(other.find(({ check }) => check === 'migrations')?.advice).toContain(
      'oncue migrate --schema other',
    )
  })
})

describe('on Postgres', () => {
  let client: pg.Client
  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
    client = new pg.Client({ connectionString: database.url, application_name: 'somebody else' })
    await client.connect()
  })
  afterEach(() => client.end())

  test('an index that is invalid is a failure, and says how to build it again', async () => {
    await client.query(
      `update pg_index set indisvalid = false where indexrelid = 'oncue.channels_token'::regclass`,
    )
    expect(await find('indexes')).toMatchObject({
      status: 'fail',
      found: 'invalid: channels_token',
      advice: expect.stringContaining('reindex index concurrently oncue.channels_token'),
    })
  })

  test('a claim without its index is a failure', async () => {
    await client.query('drop index oncue.jobs_ready')
    expect(await find('claim plan')).toMatchObject({
      status: 'fail',
      found: expect.stringMatching(/^it does not use the index jobs_ready \(.*Scan/),
    })
  })

  test('an open transaction is reported with its owner', async () => {
    await client.query('begin; select 1 from oncue.jobs')
    const finding = await find('oldest transaction')
    // Another test's transaction may be older; then that one is reported.
    expect(finding?.found).toMatch(/^pid \d+ \(.+\)/)
  })

  test('changes nothing', async () => {
    await client.query(
      `insert into oncue.jobs (id, queue, topic, payload, priority, max_retries, timeout_ms, created, updated, run_at, visible_at, status, run)
       values (gen_random_uuid(), 'default', 'mail', '{}', 0, 3, 1000, now(), now(), now(), now(), 'pending', 0)`,
    )
    const look = async () => (await client.query('select * from oncue.jobs')).rows
    const before = await look()
    expect(await find('claim plan')).toMatchObject({ status: 'ok' })
    expect(await look()).toEqual(before)
  })

  test('a server that does not reply is reported, without its password', async () => {
    const [finding, ...others] = await diagnose('postgres://app:secret@127.0.0.1:1/app')
    expect(finding).toMatchObject({ check: 'database', status: 'fail' })
    expect(JSON.stringify(finding)).not.toContain('secret')
    expect(others).toEqual([])
  })
})

describe('on SQLite', () => {
  test('a missing file is reported, and not created', async () => {
    database = await createEmptySqliteDatabase()
    for (const _ of [1, 2]) {
      expect(await diagnose(database.url)).toMatchObject([{ check: 'database', status: 'fail' }])
    }
  })

  test('a journal mode that makes readers and writers wait is a failure', async () => {
    database = await createSqliteDatabase()
    const db = new Database(database.url.slice('file:'.length))
    db.pragma('journal_mode = DELETE')
    db.close()
    expect(await find('journal')).toMatchObject({ status: 'fail', found: 'mode delete' })
  })

  test('a claim without its index cannot be planned, and is reported', async () => {
    database = await createSqliteDatabase()
    const db = new Database(database.url.slice('file:'.length))
    db.exec('DROP INDEX oncue_jobs_ready')
    db.close()
    expect(await find('claim plan')).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('oncue_jobs_ready'),
    })
  })

  // The root account may write any file.
  test.skipIf(process.getuid?.() === 0)('a file that cannot be written is a failure', async () => {
    database = await createSqliteDatabase()
    await chmod(database.url.slice('file:'.length), 0o444)
    expect(await find('permissions')).toMatchObject({ status: 'fail' })
  })

  test('a file that other users can read is a warning', async () => {
    database = await createSqliteDatabase()
    const file = database.url.slice('file:'.length)
    await chmod(file, 0o644)
    expect(await find('permissions')).toMatchObject({ status: 'ok' })
    await chmod(dirname(file), 0o755)
    expect(await find('permissions')).toMatchObject({
      status: 'warn',
      found: expect.stringContaining('other users of this machine can read the file'),
      advice: expect.stringContaining(`chmod 600 ${file}*; chmod 700 ${dirname(file)}`),
    })
  })

  test('a database in memory cannot be diagnosed from another connection', async () => {
    database = await createEmptySqliteDatabase()
    expect(await diagnose(':memory:')).toMatchObject([{ check: 'database', status: 'fail' }])
  })
})

test('sizes and permissions of a SQLite file are said without a zero or a riddle', async () => {
  database = await createSqliteDatabase()
  const findings = await diagnose(database.url)
  const found = (check: string) => findings.find((finding) => finding.check === check)?.found
  expect(found('free pages')).toMatch(/^\d+ KB \(\d+%\) of \d\S* [KM]B$/)
  expect(found('journal')).toMatch(/^WAL (is empty|of (?!0)\S+ [KM]B)$/)
  expect(found('permissions')).toBe('file and folder are writable, and private to this user')
})

describe('a connection that freezes', () => {
  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
  })

  const freezingAt = async (text: string) => {
    const relay: Relay = await Relay.start(database.url, {
      listen: () => (sent) => {
        if (sent.includes(text)) relay.freeze()
      },
    })
    onTestFinished(() => relay.close())
    return diagnose(relay.url, {}, 2_000)
  }

  test.each([
    ['dead rows', 'n_dead_tup'],
    ['claim plan', 'explain (analyze'],
  ])('during the check of %s is a finding, and the next checks get another one', async (check, text) => {
    const findings = await freezingAt(text)
    const lost = findings.filter(({ found }) => found.startsWith('could not be checked'))
    expect(lost).toMatchObject([{ check, status: 'warn' }])
    expect(findings.at(-1)?.check).toBe('oldest rows')
  })

  test('while the migrations are read is a finding', async () => {
    expect(await freezingAt('from oncue.migrations')).toMatchObject([{ check: 'database', status: 'fail' }])
  })
})
