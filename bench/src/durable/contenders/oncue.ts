import { defineJobs, defineWorkers, job } from '@oncue/core'
import { createQueue, openStore } from '@oncue/db'
import { silentLogger, startWorker } from '@oncue/worker'
import { z } from 'zod'
import packageJson from '../../../../packages/db/package.json' with { type: 'json' }
import type { Contender, DatabaseName } from '../contender.ts'

const jobs = defineJobs({
  flow: job({
    input: z.object({ tag: z.string(), steps: z.int(), after: z.enum(['end', 'receive', 'pause']) }),
    signals: { go: z.int() },
  }),
})

export const POOL_SIZE = 20

export const oncue = (database: DatabaseName): Contender => ({
  name: 'oncue',
  database,
  version: packageJson.version,
  settings:
    database === 'postgres'
      ? `concurrency 100, ${POOL_SIZE} connections, all else default`
      : 'concurrency 100, all else default',
  async start(url, body) {
    const store = await openStore(url, { poolSize: POOL_SIZE })
    const queue = createQueue({ store, jobs })
    const workers = defineWorkers(jobs, {
      flow: ({ payload }, ctx) => {
        const receive = () => ctx.receive('go')
        return body({ step: ctx.step, receive, pause: receive }, payload)
      },
    })
    const worker = await startWorker({ store, workers, concurrency: 100, log: silentLogger })
    const signal = (id: string) => queue.signal(id, 'go', 1)
    return {
      begin: (input) => queue.enqueue('flow', input),
      // Suspended: it has left the worker.
      isWaiting: async (id) => ((await store.get(id))?.waits ?? null) !== null,
      signal,
      repeat: signal,
      async stop() {
        await worker.stop()
        await store.close()
      },
    }
  },
})
