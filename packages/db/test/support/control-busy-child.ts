import { once } from 'node:events'
import { nap } from '@oncue/testing'
import { loadDriver } from '../../src/sqlite/driver.ts'

/**
 * Another process that writes to a file: it locks the file until it is told to go on, then again and again
 * for a while, until its parent disconnects.
 */
const db = new (await loadDriver())(process.argv[2] ?? '', { timeout: 10_000 })
process.on('disconnect', () => process.exit())
db.exec('BEGIN IMMEDIATE')
process.send?.('held')
await once(process, 'message')
db.exec('COMMIT')
for (;;) {
  db.exec('BEGIN IMMEDIATE')
  await nap(20)
  db.exec('COMMIT')
  await nap(5)
}
