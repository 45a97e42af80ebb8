import { hostname } from 'node:os'
import { openStore } from '@oncue/db'

/** A worker that only announces its presence, in a process that can be killed. It ends with its parent. */
const [, , url = ''] = process.argv
const store = await openStore(url)
await store.attend({
  ...{ id: crypto.randomUUID(), host: hostname(), pid: process.pid },
  ...{ queues: ['mail'], concurrency: 1, version: '1.0.0' },
})
process.on('disconnect', () => process.exit())
process.send?.('here')
