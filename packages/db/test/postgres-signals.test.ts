import pg from 'pg'
import { expect, inject, it, onTestFinished } from 'vitest'
import { openStore } from '../src/open.ts'
import { fn } from '../src/postgres/sql.ts'
import { aJob, claimOne } from './conformance/harness.ts'
import { createPostgresDatabase } from './support/index.ts'

it('a signal is sent also where it cannot be delivered at once: the poll delivers it', async () => {
  const database = await createPostgresDatabase(inject('postgresUrl'))
  const store = await openStore(database.url)
  const admin = new pg.Client(database.url)
  await admin.connect()
  onTestFinished(async () => {
    await admin.end()
    await store.close()
    await database.drop()
  })
  await store.enqueue([aJob()])
  const { id, run } = await claimOne(store)
  const wait = { kind: 'signal', name: 'bank', key: 'receive:bank#1', after: 0 } as const
  await store.settle([{ id, run, kind: 'suspend', waits: [wait], progressed: true }])

  const deliver = fn('deliver')
  await admin.query(`alter function ${deliver}(timestamptz, uuid) rename to away`)
  await store.durable.signal({ id, name: 'bank', data: '1' })
  expect(await store.durable.outcomes(id)).toEqual([])

  const [schema = '', name = ''] = deliver.split('.')
  await admin.query(`alter function ${schema}.away(timestamptz, uuid) rename to ${name}`)
  await store.rescue()
  expect(await claimOne(store)).toMatchObject({ id, run: 2 })
})
