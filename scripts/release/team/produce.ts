// Enqueues one job through the API and one directly, and prints the outcome of both.
import { createQueue, openStore } from '@oncue/db'
import { createClient } from '@oncue/sdk'
import { jobs } from './jobs.ts'

const [databaseUrl = '', url = '', token = ''] = process.argv.slice(2)

const client = createClient({ url, token, jobs })
const store = await openStore(databaseUrl)
const queue = createQueue({ store, jobs })

const digest = await client.jobs.enqueue('mail_digest', { userId: '123' })
const payment = await queue.enqueue('check_payment', { orderId: '456' })
const { sent } = await client.jobs.wait(digest, { timeoutMs: 30_000 })
const { paid } = await client.jobs.wait(payment, { topic: 'check_payment', timeoutMs: 30_000 })
await store.close()

process.stdout.write(`${sent} ${paid}`)
