import { encodeJson } from '@oncue/core/internal'
import { assertBy } from '../portable/audit.ts'
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
