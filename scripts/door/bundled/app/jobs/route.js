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
import { z } from 'zod'

export const dynamic = 'force-dynamic'

const jobs = defineJobs({ greet: job({ input: z.object({ name: z.string() }) }) })
const workers = defineWorkers(jobs, { greet: async ({ payload }) => `Hello, ${payload.name}` })

export async function GET(request) {
  const url = new URL(request.url).searchParams.get('database')
  await migrate(url)
  const store = await openStore(url)
  const id = await createQueue({ store, jobs }).enqueue('greet', { name: 'bundle' })
  const worker = await startWorker({ store, workers, log: silentLogger })
  await worker.drain()
  await worker.stop()
  const { result, lastError } = await store.get(id)
  await store.close()
  return Response.json(result ?? lastError)
}
