import type { Inputs, Outputs } from '@oncue/sdk'
import { moment } from '../../lib/format.ts'
import { namesIn } from '../tokens/token-form.ts'

export type Settings = Outputs['settings']['get']
export type Values = Settings['values']
export type SettingName = keyof Values

/** As it is typed: names one to a line, a number as text. */
export interface SettingsText
  extends Pick<
    Values,
    'httpEnabled' | 'enqueueRule' | 'manageRule' | 'operatorsEditPayloads' | 'payloadValidation'
  > {
  readonly allowedTopics: string
  readonly allowedQueues: string
  readonly maskedKeys: string
  readonly deviceIdleDays: string
}

export function textOf(values: Values): SettingsText {
  return {
    ...values,
    allowedTopics: values.allowedTopics?.join('\n') ?? '',
    allowedQueues: values.allowedQueues?.join('\n') ?? '',
    maskedKeys: values.maskedKeys.join('\n'),
    deviceIdleDays: String(values.deviceIdleDays),
  }
}

type Changes = Omit<Inputs['settings']['set'], 'reset'>

/** Only what differs, so that the rest keeps its source. Null: the days are not a number. */
export function changesOf(values: Values, text: SettingsText): Changes | null {
  const days = Number(text.deviceIdleDays.trim() || Number.NaN)
  if (!Number.isInteger(days) || days < 1 || days > 3_650) return null
  const next: Values = {
    ...text,
    // An empty list allows nothing. An empty field means no restriction, so it must not replace such a list.
    allowedTopics: keepEmpty(values.allowedTopics, namesIn(text.allowedTopics)),
    allowedQueues: keepEmpty(values.allowedQueues, namesIn(text.allowedQueues)),
    maskedKeys: namesIn(text.maskedKeys) ?? [],
    deviceIdleDays: days,
  }
  const names = Object.keys(next) as SettingName[]
  const changed = names.filter((name) => JSON.stringify(next[name]) !== JSON.stringify(values[name]))
  return Object.fromEntries(changed.map((name) => [name, next[name]]))
}

const keepEmpty = (before: string[] | null, typed: string[] | null) =>
  typed === null && before?.length === 0 ? before : typed

/** "changed by ada, 16 Nov, 03:12:05", "from the environment"; a default goes without saying. */
export function sourceInWords({ from, updated, updatedBy }: Settings['sources'][SettingName]): string {
  if (from === 'default') return ''
  if (from === 'environment') return 'From the environment.'
  return `Changed${updatedBy === null ? '' : ` by ${updatedBy}`}${updated ? `, ${moment(updated)}` : ''}.`
}
