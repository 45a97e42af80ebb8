import { prepareJob } from '@oncue/core'
import { openStore } from '@oncue/db'

/** When the call was made and when it returned. */
export type Enqueued = { readonly called: number; readonly answered: number }

/** The same clock in every process of a machine, finer than Date.now(). */
export const epochMs = () => performance.timeOrigin + performance.now()

const [, program, url] = process.argv
if (program === import.meta.filename && url) await produce(url)

/** A process of its own that enqueues a job whenever it is told to. */
async function produce(databaseUrl: string): Promise<void> {
  const store = await openStore(databaseUrl)
  process.on('message', async () => {
    const called = epochMs()
    await store.enqueue([prepareJob('wake', {})])
    process.send?.({ called, answered: epochMs() } satisfies Enqueued)
  })
  process.on('disconnect', () => void store.close())
  process.send?.('ready')
}
