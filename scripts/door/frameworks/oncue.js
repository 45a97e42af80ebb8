// What the servers beside this file share: a job, a worker, and Oncue for those who have the cookie.
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
import { oncueApp } from 'oncue/app'
import { z } from 'zod'

export const BASE_PATH = '/admin/jobs'

const jobs = defineJobs({ count: job({ input: z.object({ text: z.string() }), output: z.number() }) })
const workers = defineWorkers(jobs, { count: async ({ payload }) => payload.text.length })

export async function open(databaseUrl) {
  await migrate(databaseUrl)
  const store = await openStore(databaseUrl)
  const worker = await startWorker({ store, workers, log: silentLogger })
  const oncue = oncueApp({
    basePath: BASE_PATH,
    url: databaseUrl,
    log: silentLogger,
    authenticate: ({ headers }) =>
      headers.get('cookie') === 'session=ada' ? { id: 'ada', name: 'Ada', role: 'admin' } : null,
  })
  return { oncue, worker, store, queue: createQueue({ store, jobs }) }
}

/** Streams end first, so that the server has no connection to wait for. */
export function endWith({ oncue, worker, store }, closeServer) {
  process.once('SIGTERM', async () => {
    await oncue.close()
    await closeServer()
    await worker.stop()
    await store.close()
  })
}
