/**
 * Sells two things, one of which is paid for: `node examples/payment-check/main.ts postgres://…`. The database
 * needs the tables of `migrations/`.
 */
import { PrismaPg } from '@prisma/adapter-pg'
import { createQueue, openStore, silentLogger, startWorker } from 'oncue'
import { PrismaClient } from './generated/client.ts'
import { jobs } from './jobs.ts'
import { Shop } from './shop.ts'
import { createWorkers } from './workers.ts'

const url = process.argv[2] ?? 'postgres://localhost/shop'
const store = await openStore(url, { migrate: true })
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
const shop = new Shop(prisma, createQueue({ prisma, jobs }))

// Shorter than the usual quarter of an hour, so that the program ends soon.
const paid = await shop.placeOrder(40, 0)
const forgotten = await shop.placeOrder(7, 0)
await shop.pay(paid.id)

const worker = await startWorker({ store, workers: createWorkers(shop), log: silentLogger })
await worker.drain()
for (const { id, total } of [paid, forgotten]) {
  const { order, job } = await shop.look(id, store)
  process.stdout.write(`order of ${total}: ${order}, its job: ${job}\n`)
}

await worker.stop()
await prisma.$disconnect()
await store.close()
