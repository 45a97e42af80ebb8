import { isFinished, type JobStatus, LIMITS, OncueError } from '@oncue/core'
import { assertText, hasDroppedKey, toInputError } from '@oncue/core/internal'
import { type FilterStatus, filterStatusSchema, isIdSuffix, statusesOf, wantedStates } from '@oncue/core/wire'
import type { z } from 'zod'
import type { JobFilter } from '../../store.ts'
import { type Fragment, join, q, raw, type Sql } from '../sql.ts'

/** Refuses filters that no list supports, before the database does. */
export function checkFilter(filter: JobFilter): void {
  const { status, createdFrom, createdTo, payloadText } = filter
  const { options: known } = filterStatusSchema
  const statuses = status === undefined ? known : [status].flat()
  if (statuses.length === 0 || statuses.some((each) => !known.includes(each)))
    throw invalid('status', 'must be a job status, or several')
  if (payloadText !== undefined && !createdFrom)
    throw invalid('payloadText', 'needs createdFrom: it reads every payload since then')
  for (const [name, date] of Object.entries({ createdFrom, createdTo })) {
    if (date) assertDate(date, name)
  }
  const { queue, topic, fingerprint, idPrefix, idSuffix, errorText, meta } = filter
  if (idSuffix !== undefined && !isIdSuffix(idSuffix))
    throw invalid('idSuffix', 'must be the last 4 to 32 hexadecimal digits of an id')
  if (errorText === '') throw invalid('errorText', 'is empty, which every error contains')
  // No job has it, and a stored filter would lose it.
  if (hasDroppedKey(meta)) throw invalid('meta', 'must not have a key __proto__')
  const texts = {
    queue,
    topic,
    fingerprint,
    idPrefix,
    payloadText,
    errorText,
    meta: meta && JSON.stringify(meta),
  }
  for (const [name, text] of Object.entries(texts)) {
    if (text && /\0|\\u0000/.test(text)) throw invalid(name, 'has a NUL character, which no job can have')
  }
}

const FIRST_DATE = Date.parse('0001-01-01T00:00:00Z')

/** Refuses dates that one of the databases could not store or compare. */
export function assertDate(date: Date, name: string): void {
  const ms = date.getTime()
  if (ms >= FIRST_DATE && ms <= LIMITS.dateMax) return
  throw invalid(
    name,
    `must be a date between 0001-01-01 and 9999-12-31, not ${Number.isNaN(ms) ? 'an invalid Date' : date.toISOString()}`,
  )
}

/** The input as parsed by its schema. Every text in it can be stored. */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  given: object,
  what: string,
): z.output<Schema> {
  const parsed = schema.safeParse(given)
  if (!parsed.success) throw toInputError(parsed.error, what, given)
  for (const [field, value] of Object.entries(given))
    if (typeof value === 'string') assertText(value, `${what}.${field}`)
  return parsed.data
}

export function invalid(field: string, why: string): OncueError {
  return new OncueError('INVALID_INPUT', `${field} ${why}`)
}

export function mayBeLive(filter: JobFilter): boolean {
  return statusesOf(filter)?.some((status) => !isFinished(status)) ?? true
}

export function mayHaveEnded(filter: JobFilter, as: JobStatus): boolean {
  // A job that got over its error, or was cancelled, did not fail with it.
  if (filter.errorText !== undefined && as !== 'failed') return false
  const statuses = statusesOf(filter)
  return statuses === undefined || (statuses.includes(as) && isFinished(as))
}

export function isOneOf(column: string, statuses: readonly JobStatus[]): Fragment {
  const values = statuses.map((status) => q`${status}`)
  return statuses.length === 1
    ? q`${raw(column)} = ${join(values, ', ')}`
    : q`${raw(column)} in (${join(values, ', ')})`
}

/** With the moment that tells due jobs from those that are due later, where the filter asks for some of them. */
export type DatedFilter = JobFilter & { readonly now?: Date }

/** Those of jobs that neither run nor have ended. `pending` has three of the others in it. */
export const WAITING_STATES = [
  'blocked',
  'pending',
  'waiting',
  'scheduled',
  'retrying',
  'suspended',
] as const satisfies readonly FilterStatus[]
type WaitingState = (typeof WAITING_STATES)[number]

/** Of jobs that neither run nor have ended, the states that are asked for. Null: all, or none. */
export function waitingStatesOf(filter: JobFilter): readonly WaitingState[] | null {
  const wanted = wantedStates(filter) ?? []
  const states = WAITING_STATES.filter((state) => wanted.includes(state))
  const areAll = (['blocked', 'pending', 'suspended'] as const).every((state) => states.includes(state))
  return states.length === 0 || areAll ? null : states
}

/** Live rows `row` in one of these states: as `stateOf` of core says. */
export function isIn(state: WaitingState, row: string, now: Fragment): Fragment {
  const isLater = q`${raw(`${row}run_at >`)} ${now}`
  if (state === 'blocked') return raw(`${row}status = 'blocked' and ${row}waits is null`)
  if (state === 'suspended')
    return q`${raw(`${row}waits is not null`)} and ${raw(`(${row}status = 'blocked' or ${row}status = 'pending'`)} and ${isLater})`
  const isPending = q`${raw(`${row}status = 'pending'`)} and not (${raw(`${row}waits is not null`)} and ${isLater})`
  if (state === 'pending') return isPending
  const hasFailed = `(${row}retries > 0 or ${row}crashes > 0)`
  if (state === 'retrying') return q`${isPending} and ${raw(hasFailed)}`
  const isOfKind = state === 'scheduled' ? isLater : q`${raw(`${row}run_at <=`)} ${now}`
  return q`${isPending} and not ${raw(hasFailed)} and ${isOfKind}`
}

/** Stands for any error text: it selects the tables that may have one, and adds no condition. */
export const ANY_TEXT = ''

/**
 * A filter without the conditions that are checked job by job. `errorText` stays as any text, because it
 * selects fewer tables.
 */
export function withoutTexts(filter: JobFilter): JobFilter {
  const { payloadText, idSuffix, errorText, ...others } = filter
  return errorText === undefined ? others : { ...others, errorText: ANY_TEXT }
}

/** Conditions that no index serves, on a row `x`. Queue, topic and times are left to the caller. */
export function conditions(dialect: Sql['dialect'], filter: JobFilter): Fragment[] {
  const { meta, idPrefix, idSuffix, payloadText, errorText } = filter
  const found: Fragment[] = []
  if (meta && Object.keys(meta).length > 0) found.push(hasMeta(dialect, meta))
  if (idPrefix) {
    const range = idRange(idPrefix)
    found.push(range ? q`x.id between ${range.first} and ${range.last}` : raw('1 = 0'))
  }
  if (idSuffix) found.push(endsWith(idSuffix))
  if (payloadText) found.push(hasText(dialect, payloadText))
  if (errorText) found.push(hasError(dialect, errorText))
  return found
}

export function createdWithin(row: string, { createdFrom, createdTo }: JobFilter): Fragment[] {
  const found: Fragment[] = []
  if (createdFrom) found.push(q`${raw(row)}.created >= ${createdFrom}`)
  if (createdTo) found.push(q`${raw(row)}.created < ${createdTo}`)
  return found
}

/** The first and the last id that begin like this; undefined when none can. */
function idRange(prefix: string): { first: string; last: string; digits: number } | undefined {
  const digits = prefix.toLowerCase().replaceAll('-', '')
  if (!/^[0-9a-f]{1,32}$/.test(digits)) return undefined
  const uuid = (hex: string) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { first: uuid(digits.padEnd(32, '0')), last: uuid(digits.padEnd(32, 'f')), digits: digits.length }
}

/** Ids of version 7 begin with their time: this many digits fix it to about a minute. */
const NARROW_PREFIX = 8

/** So few jobs can begin with it that sorting them all costs less than a walk; or none can. */
export function narrowPrefix(prefix: string): boolean {
  return (idRange(prefix)?.digits ?? NARROW_PREFIX) >= NARROW_PREFIX
}

/** Digits and dashes have fixed places in every id. */
function endsWith(suffix: string): Fragment {
  const digits = suffix.toLowerCase().replaceAll('-', '')
  const ids = '00000000-0000-0000-0000-000000000000'
  let text = ''
  for (let at = ids.length - 1, left = digits.length; left > 0; at--)
    text = (ids[at] === '-' ? '-' : digits[--left]) + text
  return q`substr(cast(x.id as text), ${raw(String(ids.length - text.length + 1))}) = ${text}`
}

function hasMeta(dialect: Sql['dialect'], meta: NonNullable<JobFilter['meta']>): Fragment {
  if (dialect === 'postgres') return q`x.meta @> cast(${JSON.stringify(meta)} as jsonb)`
  // By json_each, because a path cannot spell every key; by type, because true is not 1.
  const entries = Object.entries(meta).map(([key, value]) => {
    const types = { string: `('text')`, number: `('integer', 'real')`, boolean: `('true', 'false')` }
    const type = raw(types[typeof value as keyof typeof types])
    return q`exists (select 1 from json_each(x.meta) e where e.key = ${key} and e.type in ${type} and e.value = ${value})`
  })
  return entries.reduce((a, b) => q`${a} and ${b}`)
}

/** A payload is kept as the JSON text that was sent; those over the inline limit in a table of their own. */
function hasText(dialect: Sql['dialect'], text: string): Fragment {
  const find = raw(dialect === 'postgres' ? 'strpos' : 'instr')
  const within = (column: string) => {
    const json = raw(`cast(${column} as text)`)
    // The text may be what the value says, or a piece of the JSON.
    return q`(${find}(${json}, ${text}) > 0 or ${find}(${json}, ${JSON.stringify(text).slice(1, -1)}) > 0)`
  }
  return q`case when x.payload is not null then ${within('x.payload')} else exists (
    select 1 from {payloads} p where p.job_id = x.id and p.part = 'payload' and ${within('p.data')}) end`
}

/**
 * Matches `class: message`, as the app shows it, ignoring the case of A to Z only: the databases differ in the
 * rest.
 */
function hasError(dialect: Sql['dialect'], text: string): Fragment {
  const [find, collation] = dialect === 'postgres' ? ['strpos', 'collate "C"'] : ['instr', '']
  const error = `lower(((x.last_error->>'class') || ': ' || (x.last_error->>'message')) ${collation})`
  const wanted = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  // Requeued jobs keep the error for display, but not its fingerprint.
  return q`(x.fingerprint is not null and ${raw(`${find}(${error}`)}, ${wanted}) > 0)`
}
