import { eventually } from '@oncue/testing'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { diagnose } from '../src/diagnose.ts'
import { openStore } from '../src/open.ts'
import { PostgresClient } from '../src/postgres/client.ts'
import { aJob, newWorkerId, TestClock } from './conformance/harness.ts'
import { describeStore } from './conformance/index.ts'
import { createPostgresDatabase } from './support/index.ts'
import { PGBOUNCER, type PgBouncer, startPgBouncer } from './support/pgbouncer-server.ts'
import { transactions, withClient } from './support/postgres-transactions.ts'

if (!PGBOUNCER) {
  process.stderr.write('SKIPPED: the store through PgBouncer, because no pgbouncer is installed here\n')
}

describe.skipIf(!PGBOUNCER)('through PgBouncer in transaction mode', () => {
  let bouncer: PgBouncer
  beforeAll(async () => {
    bouncer = await startPgBouncer(inject('postgresUrl'))
  })
  afterAll(() => bouncer.stop())

  /** A store's database as the pooler shows it, in another time zone and with dates in another style. */
  async function createDatabase() {
    const database = await createPostgresDatabase(inject('postgresUrl'))
    const name = new URL(database.url).pathname.slice(1)
    await withClient(database.url, async (client) => {
      await client.query(`alter database ${name} set timezone = 'Asia/Kathmandu'`)
      await client.query(`alter database ${name} set datestyle = 'German'`)
    })
    const url = bouncer.through(database.url)
    return {
      url,
      async drop() {
        await bouncer.forget(url)
        await database.drop()
      },
    }
  }

  describe('a store', () => {
    it('reports that it has no sessions, and works without presence and wake-ups', async () => {
      const database = await createDatabase()
      const store = await openStore(database.url)
      expect(store.capabilities.sessions).toBe(false)
      const worker = {
        id: newWorkerId(),
        host: 'h',
        pid: 1,
        queues: ['default'],
        concurrency: 1,
        version: '0',
      }
      const presence = await store.attend(worker)
      expect(presence.visible).toBe(false)
      let wakes = 0
      const subscription = await store.onWake(['default'], () => {
        wakes += 1
      })
      const [id = ''] = await store.enqueue([aJob()])
      const watching = store.events
        .watch(id, { signal: new AbortController().signal })
        [Symbol.asyncIterator]()
      const next = watching.next()
      await store.events.append(id, 0, [{ type: 'seen_by_the_poll' }])
      expect((await next).value).toMatchObject({ type: 'seen_by_the_poll' })
      expect(wakes).toBe(0)
      await watching.return?.()
      await subscription.close()
      await presence.leave()
      await store.close()
      await database.drop()
    })
  })

  describe('a database with another default isolation level', () => {
    it('is refused with a message that names it, because a pooled session cannot set it', async () => {
      const database = await createDatabase()
      const name = new URL(database.url).pathname.slice(1)
      await withClient(inject('postgresUrl'), (client) =>
        client.query(`alter database ${name} set default_transaction_isolation = 'repeatable read'`),
      )
      await expect(openStore(database.url)).rejects.toMatchObject({
        code: 'UNSUPPORTED_ISOLATION',
        hint: expect.stringContaining('alter role'),
      })
      const findings = await diagnose(database.url)
      expect(findings.find(({ check }) => check === 'isolation')).toMatchObject({ status: 'fail' })
      await database.drop()
    })
  })

  describe('a worker that died', () => {
    it('loses its row after an hour of silence', async () => {
      const database = await createDatabase()
      const clock = new TestClock()
      const store = await openStore(database.url, { clock: clock.now })
      const [dead, silent] = [newWorkerId(), newWorkerId()]
      const worker = { host: 'h', pid: 1, queues: ['default'], concurrency: 1, version: '0' }
      await store.attend({ ...worker, id: dead })
      clock.advance(1)
      const presence = await store.attend({ ...worker, id: silent })
      clock.advance(3_599_999)
      const left = async () => {
        await store.rescue()
        return (await store.workers()).map(({ id }) => id)
      }
      // In the first seconds after a server starts, every worker may still come back.
      await eventually(async () => expect(await left()).toEqual([silent]))
      await presence.leave()
      await store.close()
      await database.drop()
    })
  })

  describe('a client', () => {
    it('sends a statement again without its name when the pooler lost the prepared one, and runs it once', async () => {
      const database = await createDatabase()
      const client = new PostgresClient(database.url, 8)
      await client.query({ text: 'create table written (n integer)', values: [] })
      const insert = (n: number) => ({ name: 'w', text: 'insert into written values ($1)', values: [n] })
      const numbers = Array.from({ length: 200 }, (_, n) => n)
      await Promise.all(
        numbers.map((n) => (n % 2 ? client.queryOnce(insert(n)) : client.transaction([insert(n)]))),
      )
      const rows = await client.query({ text: 'select n from written order by n', values: [] })
      expect(rows.flat()).toEqual(numbers)
      await client.close()
      await database.drop()
    })
  })

  describeStore({ name: 'PgBouncer', createDatabase, transactions, pooled: true })
})
