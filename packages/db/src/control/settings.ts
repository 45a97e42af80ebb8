import { OncueError } from '@oncue/core'
import { assertQueue, encodeJson } from '@oncue/core/internal'
import { assertBy } from '../portable/audit.ts'
import type { QueueSettings } from '../store.ts'
import { type Context, jsonOf } from './client.ts'

export type SettingRow = {
  readonly key: string
  readonly value: unknown
  readonly updated: Date
  readonly updatedBy: string | null
}

type SettingChange = {
  readonly set?: Readonly<Record<string, unknown>> | undefined
  readonly reset?: readonly string[] | undefined
  readonly by?: string | undefined
}

/** What an admin changed at run time. What the keys and values mean is the API's business. */
export type SettingControl = ReturnType<typeof createSettings>

export function createSettings({ client, now }: Context) {
  return {
    all: (): Promise<SettingRow[]> => client.setting.findMany({ orderBy: { key: 'asc' } }),

    /** All of it, or nothing. `reset` takes keys away. */
    async change(change: SettingChange): Promise<void> {
      const { set = {}, reset = [], by } = change
      assertBy(by)
      const given = Object.entries(set).map(([key, value]) => ({
        key,
        value: jsonOf(encodeJson(value, 'payload')),
      }))
      const written = { updated: await now(), updatedBy: by ?? null }
      await client.$transaction([
        client.setting.deleteMany({ where: { key: { in: [...reset] } } }),
        ...given.map(({ key, value }) =>
          client.setting.upsert({
            where: { key },
            create: { key, value, ...written },
            update: { value, ...written },
          }),
        ),
      ])
    },
  }
}

/** The largest that its column holds: 24 days. */
const MAX_AGEING_MS = 2_147_483_647

/** Settings of queues. Pausing and limits are the Store's: workers and their command line need them. */
export type QueueControl = ReturnType<typeof createQueues>

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
