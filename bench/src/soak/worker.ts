import { openStore } from '@oncue/db'
import { silentLogger, startWorker } from '@oncue/worker'
import { epochMs } from '../wakeups/producer.ts'

export const TOPIC = 'soak'
export type Payload = { /** When enqueue was called. */ readonly at: number }

/** What the process is asked, and what it replies. */
export type Question = 'take' | 'stop'
export type Answer =
  | 'ready'
  | { /** Of each run that started since the last question. */ readonly pickUps: number[] }

const [, program, url] = process.argv
if (program === import.meta.filename && url) await work(url)

/** A worker process as a service would embed it, which also notes how long each of its jobs waited. */
async function work(databaseUrl: string): Promise<void> {
  let pickUps: number[] = []
  const store = await openStore(databaseUrl)
  const worker = await startWorker({
    store,
    workers: {
      async [TOPIC]({ payload }) {
        pickUps.push(epochMs() - (payload as Payload).at)
      },
    },
    log: silentLogger,
  })
  const say = (answer: Answer) => process.send?.(answer)
  const stop = async () => {
    await worker.stop()
    await store.close()
  }
  process.on('message', (question: Question) => {
    if (question === 'stop') return process.disconnect()
    say({ pickUps })
    pickUps = []
  })
  // Also when the benchmark was stopped in the middle.
  process.on('disconnect', () => void stop())
  say('ready')
}
