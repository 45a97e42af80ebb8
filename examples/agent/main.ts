/** An agent, and the person who approves what it does: `node examples/agent/main.ts [database url]`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createQueue, openStore, replay, silentLogger, startWorker, withEnds } from 'oncue'
import { jobs } from './jobs.ts'
import { model } from './model.ts'
import { Shop } from './shop.ts'
import { createWorkers } from './workers.ts'

const folder = await mkdtemp(join(tmpdir(), 'oncue-agent-'))
const shop = new Shop(join(folder, 'calls'))
const store = await openStore(process.argv[2] ?? ':memory:', { migrate: true })
const worker = await startWorker({ store, workers: createWorkers(shop, model), log: silentLogger })

const question = 'Where is order a7?'
const id = await createQueue({ store, jobs }).enqueue('support_agent', { question })
await worker.drain()
const [asked] = await store.questions()
process.stdout.write(`asked: ${asked?.question}\n`)

// As the app, the API and `oncue answer` do.
await store.durable.answer({ id, name: asked?.name ?? '', value: '{"ok":true}', by: 'ada' })
await worker.drain()
const done = await store.get(id)
if (!done) throw new Error('the job is gone')
const { result, tools } = replay(withEnds(done, await store.events.list(id)))
process.stdout.write(`answered: ${JSON.stringify(result)}\n`)
for (const [name, { calls, result }] of tools)
  process.stdout.write(`${name}, called ${calls} time(s): ${result}\n`)

await worker.stop()
await store.close()
await rm(folder, { recursive: true })
