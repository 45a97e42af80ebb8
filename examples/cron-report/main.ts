/** Writes a report every morning, until Ctrl-C: `node examples/cron-report/main.ts [database url] [folder]`. */
import { once } from 'node:events'
import { openStore, silentLogger, startWorker } from 'oncue'
import { createWorkers } from './workers.ts'

const [url = ':memory:', folder = './reports'] = process.argv.slice(2)
const sales = [{ at: new Date(), amount: 40 }]

const stopped = once(process, 'SIGINT')
const store = await openStore(url, { migrate: true })
const worker = await startWorker({ store, workers: createWorkers(sales, folder), log: silentLogger })
const [schedule] = await store.schedules.list()
process.stdout.write(`the next report is due at ${schedule?.nextAt?.toISOString()}\n`)

await stopped
await worker.stop()
await store.close()
