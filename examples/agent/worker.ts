/**
 * A worker process for the agent, to be killed: `node examples/agent/worker.ts <database url> <file of calls> [turn]`. At that
 * turn the model thinks for ever.
 */
import { createLogger, openStore, startWorker } from 'oncue'
import { type Model, model } from './model.ts'
import { Shop } from './shop.ts'
import { createWorkers } from './workers.ts'

const [url = ':memory:', file = 'calls', slowTurn] = process.argv.slice(2)
const log = createLogger({ level: 'info' })

const thinking: Model = async (messages) => {
  const turn = messages.length
  log.info({ turn }, `thinks about turn ${turn}`)
  if (String(turn) === slowTurn) await new Promise(() => {})
  return model(messages)
}

const store = await openStore(url)
await startWorker({ store, workers: createWorkers(new Shop(file), thinking), pollMs: 100, log })
