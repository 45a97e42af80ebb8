import { randomUUID } from 'node:crypto'
import { prepareJob } from '@oncue/core'
import { toRegistry } from '@oncue/core/internal'
import { openStore } from '@oncue/db'
import { silentLogger } from '@oncue/runtime'
import { createExecutor } from '../src/run/executor.ts'
import { workers } from './isolated-jobs.ts'

// A process with an isolated run that never ends. Reports the id of the child process.
const store = await openStore(':memory:')
const executor = createExecutor({
  store,
  registry: toRegistry(workers),
  log: silentLogger,
  middleware: [],
  retry: null,
  abandonMs: 60_000,
  modules: [new URL('./isolated-jobs.ts', import.meta.url).href],
})

async function start(topic: string, payload: unknown) {
  await store.enqueue([prepareJob(topic, payload)])
  const claim = { queues: ['default'], limit: 1, worker: randomUUID(), leaseMs: 60_000 }
  const [job] = (await store.claim(claim)).jobs
  if (!job) throw new Error('there is a job')
  return executor.start(job)
}

const { settlement } = await (await start('doubles', { n: '1' })).ended
if (settlement?.kind !== 'complete') throw new Error('the first run fails')
const { pid } = JSON.parse(settlement.result ?? '{}')
const spinning = await start('spins', {})
while ((await store.get(spinning.job.id))?.progress !== 'spinning') await new Promise(setImmediate)
process.send?.(pid)
