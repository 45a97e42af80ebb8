import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { diagnose } from '../src/diagnose.ts'
import { openStore } from '../src/open.ts'
import { toOncueError } from '../src/postgres/errors.ts'
import { fn } from '../src/postgres/sql.ts'
import type { Store } from '../src/store.ts'
import { aJob, claiming, claimOne, complete, read, WORKER } from './conformance/harness.ts'
import { createPostgresDatabase, type TestDatabase } from './support/index.ts'
import { withClient } from './support/postgres-transactions.ts'

let database: TestDatabase
let store: Store
beforeEach(async () => {
  database = await createPostgresDatabase(inject('postgresUrl'))
  store = await openStore(database.url)
})
afterEach(async () => {
  await store.close()
  await database.drop()
})

const admin = <T>(use: (client: pg.Client) => Promise<T>) => withClient(database.url, use)

describe.each(['repeatable read', 'serializable'])('a transaction at %s', (level) => {
  const FUNCTIONS = [
    `${fn('claim')}(null, '${WORKER}', 1000, '{default}', null, 1, 1, '{}', '{}', '{}', '{}')`,
    `${fn('settle')}(null, '{}', '{}', null, null, '{}', '{}', '{}')`,
    `${fn('record_progress')}(null, '[]')`,
    `${fn('rescue')}(null, 800, 20000, 5000, 0, null)`,
    `${fn('tend')}(null)`,
  ]

  it.each(FUNCTIONS)('is refused with a message that names it: %s', async (call) => {
    await admin(async (client) => {
      await client.query(`begin isolation level ${level}`)
      const error = await client.query(`select ${call}`).catch(toOncueError)
      expect(error).toMatchObject({
        code: 'UNSUPPORTED_ISOLATION',
        message: `Postgres: The isolation of this transaction is ${level}, not read committed`,
        retryable: false,
      })
      await client.query('rollback')
    })
  })

  it('of a caller may enqueue jobs, and is told to retry when it lost the race for a key', async () => {
    await admin(async (client) => {
      await client.query(`begin isolation level ${level}`)
      await client.query('select 1 from oncue.jobs')
      const [parent = ''] = await store.enqueue([aJob({ unique: { key: 'k' } })], { tx: client })
      await store.enqueue([aJob({ after: [parent] })], { tx: client })
      await client.query('commit')
      await claimOne(store).then((job) => store.settle([complete(job)]))

      await client.query(`begin isolation level ${level}`)
      await client.query('select 1 from oncue.jobs')
      const [id = ''] = await store.enqueue([aJob({ unique: { key: 'k' } })])
      const late = () => store.enqueue([aJob({ unique: { key: 'k' } })], { tx: client })
      await expect(late()).rejects.toMatchObject({ code: '40001' })
      await client.query('rollback')
      await client.query(`begin isolation level ${level}`)
      expect(await late()).toEqual([id])
      await client.query('commit')
    })
  })

  it('is not used when it is the default, and doctor reports the default', async () => {
    const name = new URL(database.url).pathname.slice(1)
    await admin((client) =>
      client.query(`alter database ${name} set default_transaction_isolation = '${level}'`),
    )
    const other = await openStore(database.url)
    const [id = ''] = await other.enqueue([aJob()])
    await claimOne(other).then((job) => other.settle([complete(job)]))
    expect(await read(other, id)).toMatchObject({ status: 'completed' })
    await other.close()
    const findings = await diagnose(database.url)
    expect(findings.find(({ check }) => check === 'isolation')).toMatchObject({
      status: 'warn',
      found: `${level} by default`,
    })
  })
})

/** Simulates a concurrent transaction that wins every time. */
describe('a function that retries while others win', () => {
  const before = (table: string, body: string) =>
    admin(async (client) => {
      await client.query(`create function lose() returns trigger language plpgsql as $$ begin ${body} end $$`)
      await client.query(`create trigger lose before insert on ${table} for each row execute function lose()`)
    })
  const call = (text: string) =>
    admin(async (client) => {
      // Ends an endless loop with an error.
      await client.query('set statement_timeout = 20000')
      return client.query(text).catch(toOncueError)
    })
  const conflict = { code: 'DATABASE_CONFLICT', retryable: true }

  it('gives up with a conflict: progress', async () => {
    await store.enqueue([aJob()])
    const { id, run } = await claimOne(store, claiming())
    await before('oncue.events', `raise unique_violation;`)
    const notes = JSON.stringify([{ id, run, events: [['e', '1']] }])
    expect(await call(`select ${fn('record_progress')}(null, '${notes}')`)).toMatchObject(conflict)
  })

  it('gives up with a conflict: an event', async () => {
    await before('oncue.events', `return null;`)
    const append = `select ${fn('append_event')}(now(), array[gen_random_uuid()], 'e', array['1'::json])`
    expect(await call(append)).toMatchObject(conflict)
  })

  it('gives up with a conflict: a key', async () => {
    await before('oncue.keys', `return null;`)
    const take = `select ${fn('take_key')}(now(), 'mail', 'k', gen_random_uuid(), 1000, false)`
    expect(await call(take)).toMatchObject(conflict)
  })

  it('gives up with a conflict: a settle', async () => {
    await store.enqueue([aJob()])
    const { id, run } = await claimOne(store)
    await before('oncue.history', `raise unique_violation;`)
    const settle = `select ${fn('settle')}(null, '{${id}}', '{${run}}', null, null, '{}', '{}', '{}')`
    expect(await call(settle)).toMatchObject(conflict)
  })
})
