/** Indexes a text and asks it something: `node examples/rag-index/main.ts [database url]`. */
import { createQueue, openStore, silentLogger, startWorker } from 'oncue'
import { jobs } from './jobs.ts'
import { embed, Library } from './library.ts'
import { createWorkers } from './workers.ts'

const library = new Library()
library.add(
  'cats',
  'A cat sleeps for most of the day. Its whiskers tell it how wide a gap is. Kittens drink milk, grown cats should not.',
)

const store = await openStore(process.argv[2] ?? ':memory:', { migrate: true })
const worker = await startWorker({ store, workers: createWorkers(library, embed), log: silentLogger })

const id = await createQueue({ store, jobs }).enqueue('vectorize_source', { sourceId: 'cats' })
await worker.drain()
const source = await store.get(id)
process.stdout.write(`${JSON.stringify(source?.result)}, ready: ${library.isReady('cats')}\n`)
process.stdout.write(`what do kittens drink? ${library.search('what do kittens drink?')}\n`)

await worker.stop()
await store.close()
