import { prepareJob } from '@oncue/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../../src/open.ts'
import { borrowPostgresDatabase } from './postgres-database.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { connectPostgres } from './postgres-session.ts'

// A server of its own, because other tests borrow from the one of the run.
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: 'off' } })
})
afterAll(() => server.stop())

async function run(url: string, text: string): Promise<void> {
  const session = await connectPostgres(url)
  await session.query(text)
  await session.end()
}

test('a database that was returned is lent again, and is empty', async () => {
  const first = await borrowPostgresDatabase(server.url)
  const store = await openStore(first.url)
  await store.enqueue([prepareJob('mail', {})])
  await store.close()
  await first.drop()
  const second = await borrowPostgresDatabase(server.url)
  expect(second.url).toBe(first.url)
  const again = await openStore(second.url)
  expect(await again.stats()).toMatchObject({ pending: 0 })
  await again.close()
  await second.drop()
})

test.each([
  ['a table', 'create table orders (id text)'],
  ['a column', 'alter table oncue.jobs add column colour text'],
  ['a permission', 'grant select on oncue.jobs to public'],
  [
    'a setting',
    `do $$ begin execute format('alter database %I set work_mem = ''1MB''', current_database()); end $$`,
  ],
  ['nothing of Oncue', 'drop schema oncue cascade'],
  [
    'the traces of many rows',
    `insert into oncue.settings select n, '1', now() from generate_series(1, 50000) n; delete from oncue.settings`,
  ],
])('a database that was left with %s is not lent again', async (_, statement) => {
  const changed = await borrowPostgresDatabase(server.url)
  await run(changed.url, statement)
  await changed.drop()
  const next = await borrowPostgresDatabase(server.url)
  expect(next.url).not.toBe(changed.url)
  await next.drop()
})

test('a database that is still in use fails the test that forgot it', async () => {
  const database = await borrowPostgresDatabase(server.url)
  const session = await connectPostgres(database.url)
  await expect(database.drop()).rejects.toThrow('The test left connections open')
  await session.end().catch(() => {})
})
