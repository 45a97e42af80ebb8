// One job from one end to the other, in this process: enqueued, run by a worker, and its result read.
import { createQueue, migrate, openStore, silentLogger, startWorker } from 'oncue'
import { jobs } from './jobs.ts'
import { workers } from './workers.ts'

// The database of `oncue dev`, which shows this job afterwards.
const url = process.env.DATABASE_URL ?? 'file:./.oncue/oncue.db'
await migrate(url)
const store = await openStore(url)

const queue = createQueue({ store, jobs })
const id = await queue.enqueue('send_welcome', { email: 'ada@example.com' })

const worker = await startWorker({ store, workers, log: silentLogger })
await worker.drain()
await worker.stop()

const job = await store.get(id)
console.log(`first job: ${job?.status} ${JSON.stringify(job?.result)}`)
await store.close()
