import { expect, it } from 'vitest'
import { openStore } from '../src/open.ts'
import { aJob } from './conformance/harness.ts'
import { describeStore } from './conformance/index.ts'
import { createSqliteDatabase } from './support/index.ts'
import { transactions } from './support/sqlite-transactions.ts'

describeStore({ name: 'SQLite', createDatabase: createSqliteDatabase, transactions })

it('a store in memory is a file that others can open until it is closed', async () => {
  const store = await openStore(':memory:')
  const [id = ''] = await store.enqueue([aJob()])
  const second = await openStore(store.url)
  expect(await second.get(id)).toMatchObject({ id })
  await second.close()
  await store.close()
  await expect(openStore(store.url)).rejects.toThrow()
})
