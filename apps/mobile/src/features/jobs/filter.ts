import type { FilterStatus, Inputs } from '@oncue/sdk'
import { moment } from '../../lib/format.ts'

/** The filter as the API accepts it. */
export type JobFilter = Pick<
  NonNullable<Inputs['jobs']['list']>,
  | 'status'
  | 'queue'
  | 'topic'
  | 'fingerprint'
  | 'createdFrom'
  | 'createdTo'
  | 'idPrefix'
  | 'idSuffix'
  | 'payloadText'
  | 'errorText'
  | 'meta'
>

const NAMES = [
  'status',
  'queue',
  'topic',
  'fingerprint',
  'createdFrom',
  'createdTo',
  'idPrefix',
  'idSuffix',
  'payloadText',
  'errorText',
] as const

export type FilterName = (typeof NAMES)[number]

/** As the address has it: `/jobs?status=failed,cancelled&queue=mail`. */
export type FilterParams = Readonly<Partial<Record<FilterName, string>>>

/** In the order of interest during an incident. */
export const STATUSES = [
  'failed',
  'retrying',
  'waiting',
  'processing',
  'scheduled',
  'suspended',
  'blocked',
  'completed',
  'cancelled',
] as const satisfies readonly FilterStatus[]

type Status = (typeof STATUSES)[number]

/** Three states at once, in addresses and in filters of others. */
const PENDING: readonly Status[] = ['retrying', 'waiting', 'scheduled']
const KNOWN = ['failed', 'pending', ...STATUSES.slice(1)] as const

/** An address may be typed by hand: invalid values are left out. */
export function filterOf(params: Readonly<Record<string, unknown>>): JobFilter {
  const filter: Record<string, unknown> = {}
  for (const name of NAMES) {
    const value = params[name]
    if (typeof value !== 'string' || value === '') continue
    if (name === 'createdFrom' || name === 'createdTo') {
      const date = new Date(value)
      if (!Number.isNaN(date.getTime())) filter[name] = date
    } else if (name === 'status') {
      const asked = value.split(',')
      const status = withStatuses(KNOWN.filter((known) => asked.includes(known)))
      if (status !== undefined) filter[name] = status
    } else filter[name] = value
  }
  return filter
}

export function paramsOf(filter: JobFilter): FilterParams {
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = filter[name]
      return value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : String(value)]]
    }),
  )
}

/** One as itself; none: no filter by status. */
function withStatuses(statuses: readonly FilterStatus[]): JobFilter['status'] {
  return statuses.length > 1 ? [...statuses] : statuses[0]
}

export function statusesOf({ status }: JobFilter): readonly Status[] {
  const asked = status === undefined ? [] : [status].flat()
  return asked.flatMap((each) => (each === 'pending' ? PENDING : each))
}

/** The filter's statuses with this one, or without it. */
export function toggleStatus(filter: JobFilter, status: Status): JobFilter['status'] {
  const before = statusesOf(filter)
  return withStatuses(STATUSES.filter((each) => before.includes(each) !== (each === status)))
}

/** Clears every filter that the address had before. */
export const NO_PARAMS = Object.fromEntries(NAMES.map((name) => [name, undefined])) as Readonly<
  Record<FilterName, undefined>
>

/** `From 18 Nov, 03:12:00 to 18 Nov, 04:00:00`; null: any time. */
export function timeInWords({ createdFrom, createdTo }: JobFilter): string | null {
  if (!createdFrom) return createdTo ? `Until ${moment(createdTo)}` : null
  return `From ${moment(createdFrom)}${createdTo ? ` to ${moment(createdTo)}` : ''}`
}

/** What is said on the chip of a filter. */
export function chipOf(name: FilterName, filter: JobFilter): string | null {
  const value = filter[name]
  if (value === undefined) return null
  switch (name) {
    case 'queue':
      return `Queue: ${value}`
    case 'topic':
      return `Topic: ${value}`
    case 'fingerprint':
      return `Error: ${value}`
    case 'createdFrom':
      return `From ${moment(value as Date)}`
    case 'createdTo':
      return `Until ${moment(value as Date)}`
    case 'idPrefix':
      return `Id: ${value}…`
    case 'idSuffix':
      return `Id: …${value}`
    case 'errorText':
      return `Error: “${value}”`
    case 'payloadText':
      return `Payload: “${value}”`
    case 'status':
      return null
  }
}
