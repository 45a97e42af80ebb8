import { OncueError } from '@oncue/core'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { openStore } from '../src/open.ts'
import { createSchedules, type Schedule, type ScheduleHost } from '../src/portable/schedules.ts'
import type { Sql } from '../src/portable/sql.ts'
import { PostgresClient } from '../src/postgres/client.ts'
import { postgresSql } from '../src/postgres/sql-access.ts'
import { SqliteWriter } from '../src/sqlite/client.ts'
import { loadDriver } from '../src/sqlite/driver.ts'
import { sqliteSql } from '../src/sqlite/sql-access.ts'
import type { Store } from '../src/store.ts'
import { sqliteFile } from '../src/url.ts'
import { claiming, TestClock } from './conformance/harness.ts'
import { createPostgresDatabase, createSqliteDatabase, type TestDatabase } from './support/index.ts'

type Access = { readonly sql: Sql; close(): Promise<void> }

async function openPostgres(url: string, now: () => Date): Promise<Access> {
  const client = new PostgresClient(url, 2)
  return { sql: postgresSql(client, async () => now()), close: () => client.close() }
}

async function openSqlite(url: string, now: () => Date): Promise<Access> {
  const driver = await loadDriver()
  const db = new driver(sqliteFile(url), { timeout: 0 })
  const sql = sqliteSql(db, db, new SqliteWriter(db), () => now().getTime())
  return { sql, close: async () => void db.close() }
}

const DIALECTS = [
  { name: 'Postgres', create: () => createPostgresDatabase(inject('postgresUrl')), open: openPostgres },
  { name: 'SQLite', create: createSqliteDatabase, open: openSqlite },
]

const HOUR = 3_600_000
const hourly: Schedule = {
  name: 'hourly',
  cron: '0 * * * *',
  timezone: 'UTC',
  topic: 'good',
  payload: null,
  options: {},
  missed: 'one',
  source: 'database',
}

describe.each(DIALECTS)('during a tick on $name', ({ create, open }) => {
  let database: TestDatabase
  let store: Store
  let access: Access
  let clock: TestClock
  beforeEach(async () => {
    clock = new TestClock()
    database = await create()
    store = await openStore(database.url, { clock: clock.now })
    access = await open(database.url, clock.now)
    await store.schedules.save(hourly)
    clock.advance(HOUR)
  })
  afterEach(async () => {
    await access.close()
    await store.close()
    await database.drop()
  })

  const hostOf = (enqueue: ScheduleHost['enqueue']): ScheduleHost => ({
    enqueue,
    wake: () => {},
    onWake: (names, wake) => store.onWake(names, wake),
  })
  const topics = async () =>
    (await store.claim(claiming({ leaseMs: 24 * HOUR }))).jobs.map((job) => job.topic)

  it('a process that dies between making the job and moving the schedule on leaves one job', async () => {
    const sql: Sql = {
      ...access.sql,
      run: () => Promise.reject(new OncueError('DATABASE_UNAVAILABLE', 'gone')),
    }
    const dying = createSchedules(
      sql,
      hostOf((jobs) => store.enqueue(jobs)),
    )
    await expect(dying.tick()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    expect(await store.schedules.tick()).toEqual({ enqueued: [], nextAt: new Date('2026-01-01T02:00:00Z') })
    expect(await topics()).toEqual(['good'])
  })

  it.each([
    [
      'another pattern',
      (store: Store) => store.schedules.save({ ...hourly, cron: '30 * * * *' }),
      { nextAt: new Date('2026-01-01T01:30:00Z') },
    ],
    ['a pause', (store: Store) => store.schedules.pause('hourly'), { nextAt: null, lastAt: null }],
  ])('%s takes effect', async (_, change, expected) => {
    const meanwhile = createSchedules(
      access.sql,
      hostOf(async (jobs) => {
        await change(store)
        return store.enqueue(jobs)
      }),
    )
    await meanwhile.tick()
    expect(await store.schedules.list()).toMatchObject([expected])
  })

  it('a removal takes effect', async () => {
    const meanwhile = createSchedules(
      access.sql,
      hostOf(async (jobs) => {
        await store.schedules.remove('hourly')
        return store.enqueue(jobs)
      }),
    )
    expect(await meanwhile.tick()).toMatchObject({ nextAt: null })
    expect(await store.schedules.list()).toEqual([])
  })

  it('a schedule that cannot be read does not stop the others, and is reported', async () => {
    await store.schedules.save({ ...hourly, name: 'a-broken-one', topic: 'broken' })
    clock.advance(HOUR)
    await access.sql.run({
      text: `update {schedules} set cron = 'never' where name = 'a-broken-one'`,
      values: [],
    })
    await expect(store.schedules.tick()).rejects.toMatchObject({ code: 'INVALID_CRON' })
    expect(await topics()).toEqual(['good'])
    await store.schedules.save({ ...hourly, name: 'a-broken-one', topic: 'mended' })
    clock.advance(HOUR)
    await store.schedules.tick()
    expect((await topics()).sort()).toEqual(['good', 'mended'])
  })
})
