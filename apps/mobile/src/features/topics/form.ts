import type { SchemaField, SimpleShape } from './schema.ts'

/** What was entered, by the field's path: text as typed, choices and booleans as JSON. Absent: nothing. */
export type Entered = Readonly<Record<string, string>>
export type Errors = Readonly<Record<string, string>>

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly errors: Errors }

/** The payload of a form, or its errors by field. The API has the last word on both. */
export function readForm(field: SchemaField, entered: Entered): Checked {
  const errors: Record<string, string> = {}
  const value = read(field, entered, errors)
  return Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, value: value ?? null }
}

/** Undefined: the field is left out. */
function read(field: SchemaField, entered: Entered, errors: Record<string, string>): unknown {
  const { path, shape } = field
  if (shape.kind === 'object') {
    const isLeftOut = !field.isRequired && !hasAny(field, entered)
    return isLeftOut ? absent(field) : readObject(shape.fields, entered, errors)
  }
  const text = entered[path] ?? ''
  if (text.trim() === '') {
    if (field.isRequired && !field.isNullable) errors[path] = REQUIRED[shape.kind] ?? 'Enter a value.'
    return absent(field)
  }
  try {
    if (shape.kind === 'list') return linesOf(text).map((line) => readSimple(shape.item, line))
    if (shape.kind === 'text' || shape.kind === 'number') return readSimple(shape, text)
    return JSON.parse(text)
  } catch (error) {
    errors[path] = error instanceof FormError ? error.message : 'This is not valid JSON.'
    return undefined
  }
}

function readObject(fields: readonly SchemaField[], entered: Entered, errors: Record<string, string>) {
  const values = fields.map((field) => [field.name, read(field, entered, errors)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

const REQUIRED: Readonly<Record<string, string>> = {
  text: 'Enter text. For an empty text, use JSON.',
  number: 'Enter a number.',
  boolean: 'Choose one.',
  choice: 'Choose one.',
  list: 'Enter at least one. For an empty list, use JSON.',
}

/** A required key is null when empty. */
const absent = ({ isRequired, isNullable }: SchemaField) => (isRequired && isNullable ? null : undefined)

function hasAny({ path, shape }: SchemaField, entered: Entered): boolean {
  if (shape.kind === 'object') return shape.fields.some((field) => hasAny(field, entered))
  return (entered[path] ?? '').trim() !== ''
}

class FormError extends Error {}

function readSimple(shape: SimpleShape, text: string): string | number {
  if (shape.kind === 'text') return text
  const value = Number(text.trim().replaceAll(',', ''))
  if (!Number.isFinite(value)) throw new FormError('Enter a number, such as 5.')
  if (shape.isWhole && !Number.isInteger(value)) throw new FormError('Enter a whole number.')
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new FormError('This number is too large to be exact.')
  return value
}

/** One to a line. */
const linesOf = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The form field for a path from the API: an error at `payload.tags[0]` is shown at `payload.tags`. */
export function fieldAt(field: SchemaField, path: string): string | null {
  if (!isWithin(path, field.path)) return null
  if (field.shape.kind !== 'object') return field.path
  for (const inner of field.shape.fields) {
    const found = fieldAt(inner, path)
    if (found !== null) return found
  }
  return null
}

const isWithin = (path: string, outer: string) =>
  path === outer || (path.startsWith(outer) && /[.[]/.test(path.charAt(outer.length)))

/** Each field with its default. */
export function enteredOf({ path, shape, fallback }: SchemaField): Entered {
  if (shape.kind === 'object') return Object.assign({}, ...shape.fields.map(enteredOf))
  if (fallback === undefined) return {}
  return { [path]: textOf(shape.kind, fallback) }
}

function textOf(kind: SchemaField['shape']['kind'], value: unknown): string {
  if (kind === 'text' && typeof value === 'string') return value
  if (kind === 'list' && Array.isArray(value)) return value.join('\n')
  return JSON.stringify(value)
}
