import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../src/open.ts'
import { SqliteListener } from '../src/sqlite/listener.ts'
import { aJob, claiming } from './conformance/harness.ts'
import { createSqliteDatabase, type TestDatabase } from './support/index.ts'

let database: TestDatabase
let writer: Database.Database
beforeEach(async () => {
  database = await createSqliteDatabase()
  writer = new Database(fileOf(database))
  writer.pragma('journal_mode = WAL')
})
afterEach(async () => {
  writer.close()
  await database.drop()
})

const fileOf = ({ url }: TestDatabase) => url.slice('file:'.length)
const write = () => writer.pragma('user_version = 1')
const NEVER_MS = 3_600_000

test('an enqueue of this process wakes the subscribers of its queue at once', async () => {
  const heard: string[] = []
  const [mine, other] = [1, 2].map(() => new SqliteListener(Database, fileOf(database), NEVER_MS))
  await mine?.onWake(['a'], () => heard.push('a'))
  await other?.onWake(['b', 'c'], () => heard.push('b or c'))
  mine?.wake(['a'])
  mine?.wake(['b', 'elsewhere'])
  expect(heard).toEqual(['a', 'b or c'])
  await mine?.close()
  await other?.close()
})

test('a write of another connection is noticed, and wakes every queue once', async () => {
  const listener = new SqliteListener(Database, fileOf(database))
  let wakes = 0
  const wake = () => {
    wakes += 1
  }
  await listener.onWake(['a'], wake)
  await listener.onWake(['b'], wake)
  for (let n = 1; n <= 3; n++) {
    write()
    await expect.poll(() => wakes).toBe(2 * n)
  }
  await listener.close()
})

test('a transaction that is rolled back wakes no subscriber', async () => {
  const listener = new SqliteListener(Database, fileOf(database))
  let wakes = 0
  await listener.onWake(['a'], () => {
    wakes += 1
  })
  writer.exec(`BEGIN IMMEDIATE; PRAGMA user_version = 7; ROLLBACK`)
  write()
  await expect.poll(() => wakes).toBeGreaterThan(0)
  expect(wakes).toBe(1)
  await listener.close()
})

test('the file is held open only while there is a subscriber', async () => {
  const listener = new SqliteListener(Database, fileOf(database))
  const first = await listener.onWake(['a'], () => {})
  const second = await listener.onChange(() => {})
  await first.close()
  await second.close()
  await second.close()
  await listener.onChange(() => {})
  // A connection that stays open fails the test when its database is dropped.
  await listener.close()
  await expect(listener.onWake([], () => {})).rejects.toMatchObject({ code: 'STORE_CLOSED' })
})

test('a subscriber that throws does not stop the others', async () => {
  const listener = new SqliteListener(Database, fileOf(database))
  let wakes = 0
  await listener.onWake(['a'], () => {
    throw new Error('my own fault')
  })
  await listener.onWake(['a'], () => {
    wakes += 1
  })
  listener.wake(['a'])
  expect(wakes).toBe(1)
  write()
  await expect.poll(() => wakes).toBe(2)
  await listener.close()
})

test('a worker that polls whenever it is woken comes to rest: a poll that finds nothing wakes no worker', async () => {
  const store = await openStore(database.url)
  let looks = 0
  await store.onWake(['default'], () => {
    looks += 1
    void store.claim(claiming())
  })
  await store.enqueue([aJob()])
  await expect.poll(() => looks).toBeGreaterThan(1)
  let last = -1
  const rested = async () => {
    const isSame = looks === last
    last = looks
    return isSame
  }
  // Far apart, compared with the 5 ms of a poll.
  await expect.poll(rested, { interval: 100 }).toBe(true)
  expect(looks).toBeLessThan(6)
  await store.close()
})
