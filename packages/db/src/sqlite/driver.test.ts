import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { loadDriver } from './driver.ts'

test('the driver opens a database', async () => {
  const Driver = await loadDriver()
  const db = new Driver(':memory:')
  expect(db.prepare('SELECT 1 AS one').get()).toEqual({ one: 1 })
  db.close()
})

test('on a Node in which it would crash, the driver is not even imported', async () => {
  await expect(loadDriver('9')).rejects.toMatchObject({ code: 'UNSUPPORTED_NODE' })
})

test('a thread without a file of its own uses the same copy of the driver', async () => {
  await loadDriver()
  const text = `
    const { getEnvironmentData, parentPort } = require('node:worker_threads')
    const Driver = require(getEnvironmentData('oncue.sqlite'))
    parentPort.postMessage(new Driver(':memory:').prepare('SELECT 1').pluck().get())`
  const thread = new Worker(text, { eval: true })
  expect(await once(thread, 'message')).toEqual([1])
  await thread.terminate()
})
