import { createQueue, openStore, type Queue, type Store } from 'oncue'
import { url } from './database.ts'
import { jobs } from './jobs.ts'

// Next.js loads this module several times, and again after a change: what is open is kept outside of it.
const kept = globalThis as { store?: Promise<Store> | undefined }

/** Where the site enqueues. */
export async function getQueue(): Promise<Queue<typeof jobs>> {
  kept.store ??= openStore(url)
  try {
    return createQueue({ store: await kept.store, jobs })
  } catch (error) {
    // The next call tries again.
    kept.store = undefined
    throw error
  }
}

export async function closeQueue(): Promise<void> {
  await (await kept.store)?.close()
}
