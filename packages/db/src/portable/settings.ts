import { encodeJson } from '@oncue/core/internal'
import { assertBy } from './audit.ts'
import { type Fragment, q, type Sql } from './sql.ts'

type SettingChange = {
  readonly set?: Readonly<Record<string, unknown>> | undefined
  /** Keys to remove. */
  readonly reset?: readonly string[] | undefined
  readonly by?: string | undefined
}

/** Settings that an admin changed at run time. The API defines what keys and values mean. */
const SECRET = 'secret:'

export const isSecret = ({ key }: { readonly key: string }) => key.startsWith(SECRET)

export interface SettingStore {
  /** All of them, or none. */
  change(change: SettingChange): Promise<void>
  /** A value that is created at the first call and is the same for all processes. No list of settings includes it. */
  secret(name: string, make: () => string): Promise<string>
}

/** One transaction, so it belongs to the Store; Control lists what is set. */
export function createSettings(sql: Sql): SettingStore {
  return {
    async change({ set = {}, reset = [], by }) {
      assertBy(by)
      const now = await sql.now()
      const changes: [string, Fragment][] = reset.map((key) => [
        key,
        q`delete from {settings} where key = ${key}`,
      ])
      for (const [key, value] of Object.entries(set))
        changes.push([
          key,
          q`insert into {settings} (key, value, updated, updated_by)
            values (${key}, ${encodeJson(value, 'payload')}, ${now}, ${by ?? null})
            on conflict (key) do update set
              value = excluded.value, updated = excluded.updated, updated_by = excluded.updated_by`,
        ])
      // Sorted, so that two changes do not deadlock.
      const statements = changes.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, statement]) => statement)
      if (statements.length > 0) await sql.run(...statements)
    },

    async secret(name, make) {
      const key = SECRET + name
      const read = () => sql.all<{ value: unknown }>(q`select value from {settings} where key = ${key}`)
      const [known] = await read()
      if (known) return String(sql.json(known.value))
      // Of several processes that start at once, the first creates it.
      await sql.run(q`insert into {settings} (key, value, updated)
        values (${key}, ${encodeJson(make(), 'payload')}, ${await sql.now()}) on conflict (key) do nothing`)
      const [made] = await read()
      return String(sql.json(made?.value))
    },
  }
}
