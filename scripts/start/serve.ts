import { join } from 'node:path'
import { type Api, startApi } from '@oncue/api'
import { type RunningWorker, startWorker } from '@oncue/worker'
import { type Demo, startDemo } from '../../examples/demo/demo.ts'
import { createExampleWorkers } from '../../examples/workers.ts'
import type { Settings } from './config.ts'
import type { Log } from './log.ts'

export interface Oncue {
  readonly api: Api
  /** Lets running jobs finish within the grace time; a second call with `graceMs: 0` ends that. */
  stop(options?: { readonly graceMs?: number }): Promise<void>
}

/**
 * API and worker in one process, on one store: neither can continue when the other has crashed, nothing is left
 * behind when it is killed, and `:memory:` works. In production they are processes of their own.
 */
export async function serve(
  { api: config, worker, folder }: Settings,
  log: Log,
  isDemo: boolean,
): Promise<Oncue> {
  const api = await startApi(config, log)
  const { store } = api.services
  const started: (RunningWorker | Demo)[] = []
  try {
    if (isDemo) started.push(await startDemo(store, log, worker.retention))
    started.push(
      await startWorker({
        store,
        workers: createExampleWorkers(join(folder, 'reports')),
        queues: worker.queues,
        concurrency: worker.concurrency,
        pollMs: worker.pollMs,
        maxPollMs: worker.maxPollMs,
        leaseMs: worker.leaseMs,
        graceMs: worker.graceMs,
        retry: worker.retry,
        // The workers of the demo do the maintenance, and keep less.
        maintenance: isDemo ? false : { retention: worker.retention },
        log,
      }),
    )
  } catch (error) {
    await Promise.all(started.map((part) => part.stop({ graceMs: 0 })))
    await api.close()
    throw error
  }
  return {
    api,
    async stop(options = {}) {
      await Promise.all(started.map((part) => part.stop(options)))
      await api.close()
    },
  }
}
