import { encodeJson } from '@oncue/core/internal'
import type { SettingStore } from '../access.ts'
import { assertBy } from '../by.ts'
import type { PortableStatement, Sql } from '../sql.ts'

type StoredSetting = {
  readonly key: string
  readonly value: unknown
  readonly updated: unknown
  readonly updated_by: string | null
}

/** Written once for both databases. */
export function createSettings(sql: Sql): SettingStore {
  return {
    async all() {
      const rows = await sql.all<StoredSetting>({ text: 'select * from {settings} order by key' })
      return rows.map(({ key, value, updated, updated_by }) => ({
        key,
        value: sql.json(value),
        updated: sql.time(updated) as Date,
        updatedBy: updated_by,
      }))
    },

    async change({ set = {}, reset = [], by }) {
      assertBy(by)
      const now = await sql.now()
      const statements: PortableStatement[] = [
        ...reset.map((key) => ({ text: 'delete from {settings} where key = ?', values: [key] })),
        ...Object.entries(set).map(([key, value]) => ({
          text: `insert into {settings} (key, value, updated, updated_by) values (?, ?, ?, ?)
            on conflict (key) do update set
              value = excluded.value, updated = excluded.updated, updated_by = excluded.updated_by`,
          values: [key, encodeJson(value, 'payload'), now, by ?? null],
        })),
      ]
      if (statements.length > 0) await sql.run(...statements)
    },
  }
}
