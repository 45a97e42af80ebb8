import { migrate } from 'oncue'
import { admin } from './admin.ts'
import { url } from './database.ts'
import { closeQueue } from './queue.ts'

/** What has to happen once, before the first request. */
export async function start(): Promise<void> {
  await migrate(url)
  await admin.start()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void admin.close().then(closeQueue))
}
