import { execFile } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { getEnvironmentData } from 'node:worker_threads'
import { defineJobs, job } from '@oncue/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { openStore } from '../src/open.ts'
import { createQueue } from '../src/queue/queue.ts'
import { transactionsOf } from '../src/queue/transactions.ts'
import { loadDriver } from '../src/sqlite/driver.ts'
import type { Store } from '../src/store.ts'
import { sqliteFile } from '../src/url.ts'
import { createSqliteDatabase, type TestDatabase } from './support/index.ts'

// Before a file is opened. The whole conformance suite runs on this driver in schema-conformance.test.ts.
vi.stubEnv('ONCUE_SQLITE', 'node:sqlite')

const run = promisify(execFile)
const jobs = defineJobs({ greet: job({ input: z.object({ name: z.string() }) }) })

let database: TestDatabase
let store: Store
let db: DatabaseSync
beforeEach(async () => {
  database = await createSqliteDatabase()
  store = await openStore(database.url)
  db = new DatabaseSync(sqliteFile(database.url))
})
afterEach(async () => {
  db.close()
  await store.close()
  await database.drop()
})

const count = async () => (await store.stats()).pending

it('is what all threads of the process use', async () => {
  expect(await loadDriver()).not.toBe((await import('better-sqlite3')).default)
  expect(getEnvironmentData('oncue.sqlite')).toBe('node:sqlite')
})

it('refuses another value of the variable', async () => {
  const program = `await (await import(${JSON.stringify(new URL('../src/open.ts', import.meta.url))})).openStore(':memory:')`
  const args = ['--input-type=module', '-e', program]
  const running = run(process.execPath, args, { env: { ONCUE_SQLITE: 'sqlite3' } })
  await expect(running).rejects.toThrow('ONCUE_SQLITE=sqlite3 must be better-sqlite3 or node:sqlite')
})

describe('createQueue on a DatabaseSync', () => {
  it('enqueues, at once', async () => {
    const enqueued = createQueue({ database: db, jobs }).enqueue('greet', { name: 'Ada' })
    expect(db.prepare('select count(*) as count from oncue_jobs').get()).toMatchObject({ count: 1 })
    expect(await store.get(await enqueued)).toMatchObject({ topic: 'greet', status: 'pending' })
  })

  it('is part of the transaction that is open', async () => {
    const queue = createQueue({ database: db, jobs })
    db.exec('BEGIN')
    await queue.enqueue('greet', { name: 'nobody' })
    db.exec('ROLLBACK')
    db.exec('BEGIN')
    const id = await queue.enqueue('greet', { name: 'Grace' }, { tx: db })
    expect(db.isTransaction).toBe(true)
    expect(await store.get(id)).toBeNull()
    db.exec('COMMIT')
    expect(await store.get(id)).toMatchObject({ payload: { name: 'Grace' } })
    expect(await count()).toBe(1)
  })

  it('leaves no transaction open when it fails', async () => {
    const queue = createQueue({ database: db, jobs })
    db.exec('DROP TABLE oncue_jobs')
    expect(() => queue.enqueue('greet', { name: 'Ada' })).toThrow(
      expect.objectContaining({ code: 'MIGRATION_NEEDED' }),
    )
    expect(db.isTransaction).toBe(false)
  })
})

it('transactionsOf commits on a DatabaseSync, or rolls back', async () => {
  const { open } = transactionsOf({ database: db })
  const queue = createQueue({ database: db, jobs })
  await open((tx) => queue.enqueue('greet', { name: 'Ada' }, { tx }))
  const failing = open((tx) => {
    void queue.enqueue('greet', { name: 'nobody' }, { tx })
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(db.isTransaction).toBe(false)
  expect(await count()).toBe(1)
})
