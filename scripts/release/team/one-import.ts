// The same team with the one package: its definitions, queue, worker, client and test worker. Prints the outcomes.
import {
  createQueue,
  defineJobs,
  defineWorkers,
  job,
  migrate,
  openStore,
  silentLogger,
  startWorker,
} from 'oncue'
import { createClient } from 'oncue/client'
import { createTestClient, createTestWorker } from 'oncue/testing'
import { z } from 'zod'

export const jobs = defineJobs({
  greet: job({ input: z.object({ name: z.string() }), output: z.object({ greeting: z.string() }) }),
})
export const workers = defineWorkers(jobs, {
  async greet({ payload }) {
    return { greeting: `Hello, ${payload.name}` }
  },
})

const [databaseUrl = ''] = process.argv.slice(2)
await migrate(databaseUrl)
const store = await openStore(databaseUrl)
// @ts-expect-error name is a string
const wrong = () => createQueue({ store, jobs }).enqueue('greet', { name: 1 })
const id = await createQueue({ store, jobs }).enqueue('greet', { name: 'queue' })
const worker = await startWorker({ store, workers, log: silentLogger })
await worker.drain()
await worker.stop()
const run = await store.get(id)
await store.close()

await using test = await createTestWorker({ jobs, workers })
const tested = await test.run('greet', { name: 'test' })
const client = createTestClient({ jobs })
await client.jobs.enqueue('greet', { name: 'client' })

const told = [run?.status, tested.result?.greeting, client.enqueued[0]?.payload.name, typeof createClient]
process.stdout.write(told.join(' ') + String(wrong).slice(0, 0))
