import { OncueError } from '@oncue/core'
import { assertQueue } from '@oncue/core/internal'
import { isSecret, type SettingStore } from '../portable/settings.ts'
import type { QueueSettings } from '../store.ts'
import type { Context } from './client.ts'

export type SettingRow = {
  readonly key: string
  readonly value: unknown
  readonly updated: Date
  readonly updatedBy: string | null
}

export type SettingControl = Pick<SettingStore, 'change'> & { all(): Promise<SettingRow[]> }

/** A change is one transaction, which the Store writes. */
export function createSettings({ client }: Context, change: SettingStore['change']): SettingControl {
  return {
    change,
    async all() {
      const rows = await client.setting.findMany({ orderBy: { key: 'asc' } })
      return rows.filter((row) => !isSecret(row))
    },
  }
}

/** The largest that its column holds: 24 days. */
const MAX_AGEING_MS = 2_147_483_647

/** Settings of queues. Pausing and limits are the Store's: workers and their command line need them. */
export function createQueues({ client }: Context) {
  return {
    /** Changes what is given; `null` removes the setting. */
    async configure(queue: string, { ageingMs }: QueueSettings): Promise<void> {
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
