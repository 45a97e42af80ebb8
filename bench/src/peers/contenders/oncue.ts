import { DEFAULTS, defineJobs, defineWorkers, type EnqueueOptions, job } from '@oncue/core'
import { createQueue, openStore } from '@oncue/db'
import { silentLogger, startWorker } from '@oncue/worker'
import { z } from 'zod'
import packageJson from '../../../../packages/db/package.json' with { type: 'json' }
import type { Contender, DatabaseName } from '../contender.ts'
import {
  CONCURRENCY,
  keyOf,
  payloadOf,
  priorityOf,
  queueNames,
  queueOf,
  SHAPE_NAMES,
  type ShapeName,
} from '../shapes.ts'

const input = z.object({ n: z.number(), userId: z.string() })
const jobs = defineJobs({
  bench: job({ input, retry: { strategy: 'fixed', baseDelay: 0 } }),
  bench_result: job({ input, output: z.object({ sent: z.number() }) }),
})

const OPTIONS: Partial<Record<ShapeName, (n: number) => EnqueueOptions>> = {
  meta: (n) => ({ meta: { tenant: `tenant-${n % 100}`, region: 'eu' } }),
  keys: (n) => ({ unique: { key: keyOf(n) } }),
  queues: (n) => ({ queue: queueOf(n), priority: priorityOf(n) }),
}

/** As users run it: definitions with schemas, `createQueue`, `startWorker` with all defaults but the concurrency. */
function oncue(database: DatabaseName, synchronous?: 'NORMAL'): Contender {
  const durability = database === 'sqlite' ? `, synchronous=${synchronous ?? 'FULL'}` : ''
  return {
    name: synchronous ? 'Oncue NORMAL' : 'Oncue',
    database,
    version: packageJson.version,
    settings: `enqueueMany(1,000), startWorker with concurrency ${CONCURRENCY}${durability}`,
    keeps: 'every finished job, in a history that lists can search',
    shapes: SHAPE_NAMES,
    async produce(url, shape) {
      const store = await openStore(url, { migrate: true, synchronous })
      const queue = createQueue({ store, jobs })
      const topic = shape === 'result' ? 'bench_result' : 'bench'
      const options = OPTIONS[shape]
      return {
        enqueue: (numbers) =>
          queue.enqueueMany(numbers.map((n) => ({ topic, payload: payloadOf(n), ...options?.(n) }))),
        async isDrained() {
          const { pending, processing } = await store.stats()
          return pending + processing === 0
        },
        close: () => store.close(),
      }
    },
    async work(url, { shape, handle }) {
      const store = await openStore(url, { synchronous })
      const workers = defineWorkers(jobs, {
        bench: async ({ payload }, { attempt }) => {
          await handle(payload.n, attempt)
        },
        bench_result: async ({ payload }, { attempt }) =>
          (await handle(payload.n, attempt)) as { sent: number },
      })
      const queues = shape === 'queues' ? queueNames : [DEFAULTS.queue]
      let worker: Awaited<ReturnType<typeof startWorker>> | undefined
      return {
        async start() {
          worker = await startWorker({ store, workers, queues, concurrency: CONCURRENCY, log: silentLogger })
        },
        async stop() {
          await worker?.stop()
          await store.close()
        },
      }
    },
  }
}

export const oncuePostgres = oncue('postgres')
export const oncueSqlite = oncue('sqlite')
/** With the durability of plainjob. */
export const oncueSqliteNormal = oncue('sqlite', 'NORMAL')
