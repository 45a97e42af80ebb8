import { fork } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../src/open.ts'
import { loadDriver } from '../src/sqlite/driver.ts'
import { SqliteStore } from '../src/sqlite/store.ts'
import { sqliteFile } from '../src/url.ts'
import { aJob } from './conformance/harness.ts'
import { createSqliteDatabase, type TestDatabase } from './support/index.ts'

describe('opening a file that others use', () => {
  let database: TestDatabase
  beforeEach(async () => {
    database = await createSqliteDatabase()
  })
  afterEach(() => database.drop())

  it('waits for a process that has locked the file exclusively', async () => {
    const driver = await loadDriver()
    const file = sqliteFile(database.url)
    const owner = new driver(file)
    owner.exec('PRAGMA locking_mode = EXCLUSIVE')
    owner.exec('BEGIN EXCLUSIVE')
    expect(() => new SqliteStore({ driver, file })).toThrow(
      expect.objectContaining({ code: 'DATABASE_BUSY', retryable: true }),
    )
    const opening = SqliteStore.open({ driver, file })
    owner.close()
    const store = await opening
    expect(await store.enqueue([aJob()])).toHaveLength(1)
    await store.close()
  })

  it('never fails, however many processes open and close it at once', async () => {
    const children = Array.from({ length: 4 }, () =>
      fork(new URL('./support/sqlite-open-child.ts', import.meta.url), [database.url], { execArgv: [] }),
    )
    const answers = await Promise.all(children.map((child) => once(child, 'message')))
    expect(answers.flat().filter((answer) => typeof answer === 'object')).toEqual(
      children.map(() => ({ opened: 100, errors: [] })),
    )
    const store = await openStore(database.url)
    expect(await store.stats()).toMatchObject({ pending: 400 })
    await store.close()
  })
})
