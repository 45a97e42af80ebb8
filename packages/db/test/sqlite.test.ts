import { expect, it } from 'vitest'
import { aJob } from '../src/conformance/harness.ts'
import { describeStore } from '../src/conformance/index.ts'
import { openStore } from '../src/open.ts'
import { createSqliteDatabase } from '../src/testing/index.ts'
import { transactions } from './sqlite-transactions.ts'

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
