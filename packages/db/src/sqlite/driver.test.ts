import { expect, test } from 'vitest'
import { loadDriver } from './driver.ts'

test('the driver opens a database', async () => {
  const Driver = await loadDriver()
  const db = new Driver(':memory:')
  expect(db.prepare('SELECT 1').pluck().get()).toBe(1)
  db.close()
})

test('on a Node in which it would crash, the driver is not even imported', async () => {
  await expect(loadDriver('9')).rejects.toMatchObject({ code: 'UNSUPPORTED_NODE' })
})
