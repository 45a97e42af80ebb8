import { OncueError } from '@oncue/core'
import { assertQueue } from '@oncue/core/internal'
import type { QueueSettings } from '../store.ts'
import type { Context } from './client.ts'

/** The largest that its column holds: 24 days. */
const MAX_AGEING_MS = 2_147_483_647

/** Settings of queues. Pausing and limits are the Store's: workers and their command line need them. */
export interface QueueControl {
  /** Changes what is given; `null` removes the setting. */
  configure(queue: string, settings: QueueSettings): Promise<void>
}

export function createQueues({ client }: Context): QueueControl {
  return {
    async configure(queue, { ageingMs }) {
      assertQueue(queue)
      if (ageingMs === undefined) return
      if (ageingMs !== null && !(Number.isInteger(ageingMs) && ageingMs >= 1 && ageingMs <= MAX_AGEING_MS)) {
        const message = `ageingMs must be a whole number from 1 to ${MAX_AGEING_MS}, or null; got ${String(ageingMs)}`
        throw new OncueError('INVALID_INPUT', message)
      }
      const [name, settings] = [queue, { ageingMs }]
      await client.queue.upsert({ where: { name }, create: { name, ...settings }, update: settings })
    },
  }
}
