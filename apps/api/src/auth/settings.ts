import {
  DEFAULT_SETTINGS,
  SETTING_NAMES,
  type SettingName,
  type SettingSource,
  type Settings,
  settingsSchema,
} from '@oncue/core/wire'
import type { Control, SettingRow } from '@oncue/db/control'
import type { Runtime } from '@oncue/runtime'
import { TtlCache } from '../ttl-cache.ts'

/** Other processes see a change within this time. */
const TTL_MS = 1_000

export type SettingsChange = {
  readonly set: { readonly [Name in SettingName]?: Settings[Name] | undefined }
  /** These return to the environment's values. */
  readonly reset: readonly SettingName[]
  readonly by: string
}

/** The effective settings: set by an admin at run time, else by the environment, else the default. */
export interface LiveSettings {
  get(): Promise<Settings>
  sources(): Promise<Record<SettingName, SettingSource>>
  change(change: SettingsChange): Promise<void>
}

export function createSettings(
  control: Pick<Control, 'settings'>,
  environment: SettingsChange['set'] = {},
  runtime?: Runtime,
): LiveSettings {
  const initial = settingsSchema.parse({ ...DEFAULT_SETTINGS, ...withoutUndefined(environment) })

  const known = new TtlCache<{ readonly rows: SettingRow[]; readonly values: Settings }>(TTL_MS, 1, runtime)

  const read = () =>
    known.get('', async () => {
      const rows = (await control.settings.all()).flatMap((row) => readRow(row) ?? [])
      return {
        rows,
        values: { ...initial, ...Object.fromEntries(rows.map(({ key, value }) => [key, value])) },
      }
    })

  return {
    get: async () => (await read()).values,

    async sources() {
      const { rows } = await read()
      const sourceOf = (name: SettingName): SettingSource => {
        const row = rows.find(({ key }) => key === name)
        if (row) return { from: 'runtime', updated: row.updated, updatedBy: row.updatedBy }
        const from = environment[name] === undefined ? 'default' : 'environment'
        return { from, updated: null, updatedBy: null }
      }
      return Object.fromEntries(SETTING_NAMES.map((name) => [name, sourceOf(name)])) as Record<
        SettingName,
        SettingSource
      >
    },

    async change({ set, reset, by }) {
      await control.settings.change({ set: withoutUndefined(set), reset, by })
      known.clear()
    },
  }
}

/** A row that cannot be parsed is ignored: a newer version or a person may have written it. */
function readRow({ key, value, ...row }: SettingRow): SettingRow | undefined {
  const name = SETTING_NAMES.find((known) => known === key)
  const parsed = name && settingsSchema.shape[name].safeParse(value)
  return parsed?.success ? { ...row, key, value: parsed.data } : undefined
}

function withoutUndefined(values: SettingsChange['set']): Partial<Settings> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}
