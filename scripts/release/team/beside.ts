// A service that enqueues straight into the database, without the API and its client, and waits for its job.
import { setTimeout as delay } from 'node:timers/promises'
import { createQueue, openStore } from '@oncue/db'
import { jobs } from './jobs.ts'

const [databaseUrl = ''] = process.argv.slice(2)
const store = await openStore(databaseUrl)
const id = await createQueue({ store, jobs }).enqueue('check_payment', { orderId: '456' })
let job = await store.get(id)
for (let looks = 0; !job?.finishedAt && looks < 300; looks++) {
  await delay(100)
  job = await store.get(id)
}
await store.close()

process.stdout.write(JSON.stringify(job?.result ?? job))
