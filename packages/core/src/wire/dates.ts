import { OncueError } from '../errors.ts'

/** JSON, and the paths of the texts in it that stand for dates: a subset of the format of superjson. */
export interface WithDates {
  readonly json: unknown
  readonly meta?: { readonly values: DatePaths; readonly v: 1 }
}

/** A single date, or paths to dates: `a.0.b`, where `\.` and `\\` are escaped characters of a name. */
type DatePaths = readonly ['Date'] | Readonly<Record<string, readonly ['Date']>>

/**
 * We send JSON with dates in it, so the paths of the dates are enough: superjson itself walks and
 * copies everything, and refuses a payload that has a field `constructor`. An invalid date is refused: JSON would make
 * it null, which reads as no condition, or as 1970.
 */
export function encodeDates(json: unknown): WithDates {
  if (json instanceof Date) {
    assertValid(json, '')
    return { json: json.toJSON(), meta: { values: ['Date'], v: 1 } }
  }
  const values: Record<string, ['Date']> = {}
  if (typeof json === 'object' && json !== null) markDates(json, '', values)
  return Object.keys(values).length === 0 ? { json } : { json, meta: { values, v: 1 } }
}

function markDates(container: object, path: string, values: Record<string, ['Date']>): void {
  if (Array.isArray(container)) {
    // For thousands of results: their keys need no escaping.
    for (let n = 0; n < container.length; n++) markDate(container[n], path + n, values)
    return
  }
  for (const key of Object.keys(container)) {
    const value = (container as Record<string, unknown>)[key]
    if (typeof value === 'object' && value !== null)
      markDate(value, path + key.replace(/[\\.]/g, '\\$&'), values)
  }
}

function markDate(value: unknown, at: string, values: Record<string, ['Date']>): void {
  if (typeof value !== 'object' || value === null) return
  if (value instanceof Date) {
    assertValid(value, `.${at}`)
    values[at] = ['Date']
  } else markDates(value, `${at}.`, values)
}

function assertValid(date: Date, at: string): void {
  if (Number.isNaN(date.getTime())) throw new OncueError('INVALID_DATE', `input${at} is an invalid Date`)
}

/** The reverse, in place. Other texts are not changed. */
export function decodeDates(wire: unknown): unknown {
  if (!isWithDates(wire)) return wire
  const { json, meta } = wire
  if (!meta) return json
  if (Array.isArray(meta.values)) return toDate(json)
  for (const path of Object.keys(meta.values)) changeAt(json, path, toDate)
  return json
}

function isWithDates(value: unknown): value is WithDates {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'json')
}

function split(path: string): string[] {
  const names: string[] = []
  let name = ''
  for (let at = 0; at < path.length; at++) {
    const letter = path.charAt(at)
    if (letter === '.') {
      names.push(name)
      name = ''
    } else name += letter === '\\' ? path.charAt(++at) : letter
  }
  return [...names, name]
}

/**
 * Replaces the value at a path as superjson writes it, and returns whether there is one. The sender of the path
 * may be hostile, so it never leads to what an object inherits, nor to the length of a list.
 */
export function changeAt(json: unknown, path: string, change: (value: unknown) => unknown): boolean {
  const names = split(path)
  const last = names.pop() ?? ''
  let container = json
  for (const name of names) {
    if (!has(container, name)) return false
    container = container[name]
  }
  if (!has(container, last)) return false
  container[last] = change(container[last])
  return true
}

function has(value: unknown, name: string): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && Object.prototype.propertyIsEnumerable.call(value, name)
  )
}

const toDate = (value: unknown) => (typeof value === 'string' ? new Date(value) : value)
