import { Worker } from 'node:worker_threads'
import { readWorkers } from '@oncue/core/internal'
import { commitWorkers, URL_VARIABLE } from './commit-handlers.ts'

// The same handlers in a process that is killed in the first run of each job, at a random moment. By a thread: most
// transactions on SQLite are synchronous.
const buffer = new SharedArrayBuffer(8)
const armed = new Int32Array(buffer)
const killer = `
  const armed = new Int32Array(require('node:worker_threads').workerData)
  Atomics.wait(armed, 0, 0)
  Atomics.wait(armed, 0, 1, armed[1])
  process.kill(process.pid, 'SIGKILL')`
new Worker(killer, { eval: true, workerData: buffer }).unref()

// biome-ignore lint/style/noProcessEnv: a module of handlers, in a process that is given only this variable.
export const { workers } = commitWorkers(process.env[URL_VARIABLE] ?? '', { isIsolated: true })

for (const worker of readWorkers(workers).values()) {
  const { handler } = worker
  Object.assign(worker, {
    handler: async (...[job, ctx]: Parameters<typeof handler>) => {
      if (job.retries > 0) return handler(job, ctx)
      armed[1] = Math.random() * 40
      Atomics.store(armed, 0, 1)
      Atomics.notify(armed, 0)
      await handler(job, ctx)
      return new Promise(() => {})
    },
  })
}
