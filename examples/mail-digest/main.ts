/** Sends a digest to every user: `node examples/mail-digest/main.ts [database url]`. */
import { createQueue, openStore, silentLogger, startWorker } from 'oncue'
import { jobs } from './jobs.ts'
import { createWorkers } from './workers.ts'

const NEWS = new Map([
  ['ada', ['Charles has answered you', 'Your build is green']],
  ['grace', ['There is a moth in the relay']],
  ['linus', []],
])

const store = await openStore(process.argv[2] ?? ':memory:', { migrate: true })
const queue = createQueue({ store, jobs })
const workers = createWorkers({
  unread: async (userId) => NEWS.get(userId) ?? [],
  send: async ({ to, subject }) => {
    process.stdout.write(`mail to ${to}: ${subject}\n`)
  },
})
const worker = await startWorker({ store, workers, concurrency: 1, log: silentLogger })

// One digest per user at a time: a user with one waiting gets no second one.
await queue.enqueueMany(
  [...NEWS.keys()].map((userId) => ({
    topic: 'mail_digest',
    payload: { userId },
    unique: { key: `digest:${userId}` },
  })),
)
await worker.drain()
const { completed, cancelled } = await store.stats()
process.stdout.write(`${completed} sent, ${cancelled} had nothing to send\n`)

await worker.stop()
await store.close()
