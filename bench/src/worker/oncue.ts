import { openStore } from '@oncue/db'
import { silentLogger, startWorker } from '@oncue/worker'
import { CONCURRENCY } from '../peers/shapes.ts'
import { type Start, TOPIC } from './contender.ts'

/** As a service would embed it: with leases, rescue and maintenance, as by default. */
export const startOncue: Start = async (url, ran) => {
  const store = await openStore(url)
  const handler = async () => ran()
  const worker = await startWorker({
    store,
    workers: { [TOPIC]: handler },
    concurrency: CONCURRENCY,
    log: silentLogger,
  })
  return {
    async stop() {
      await worker.stop()
      await store.close()
    },
  }
}
