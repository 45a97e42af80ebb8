import { number } from '../../lib/format.ts'

/** The part of JSON Schema that a form can show field by field. */
export type Shape =
  | { readonly kind: 'text'; readonly note: string }
  | { readonly kind: 'number'; readonly isWhole: boolean; readonly note: string }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'choice'; readonly values: readonly unknown[] }
  | { readonly kind: 'list'; readonly item: SimpleShape }
  | { readonly kind: 'object'; readonly fields: readonly SchemaField[] }
  /** Everything else is entered as JSON. */
  | { readonly kind: 'json' }

export type SimpleShape = Extract<Shape, { kind: 'text' | 'number' }>

export interface SchemaField {
  readonly name: string
  /** What people call it: its title in the schema. */
  readonly title: string | null
  /** As the API names it in errors: `payload.user.name`. */
  readonly path: string
  readonly isRequired: boolean
  readonly isNullable: boolean
  readonly help: string
  readonly fallback: unknown
  readonly shape: Shape
}

type Schema = Readonly<Record<string, unknown>>

/** Deeper than this, a form is harder to read than JSON. */
const MAX_DEPTH = 4

/** The whole payload, as a field of its own. */
export const payloadField = (schema: unknown): SchemaField => rootField('payload', schema)

/** A whole value, as the API names it in errors: `answer.ok`. */
export function rootField(name: 'payload' | 'answer' | 'signal', schema: unknown): SchemaField {
  return fieldOf({ name, path: name, schema, isRequired: true, depth: 0 })
}

interface Place {
  readonly name: string
  readonly path: string
  readonly schema: unknown
  readonly isRequired: boolean
  readonly depth: number
}

function fieldOf({ name, path, schema, isRequired, depth }: Place): SchemaField {
  const { inner, isNullable } = withoutNull(isSchema(schema) ? schema : {})
  const { title, description, default: fallback } = { ...inner, ...(isSchema(schema) ? schema : {}) }
  return {
    ...{ name, path, isRequired: isRequired && fallback === undefined, isNullable, fallback },
    title: typeof title === 'string' && title.trim() !== '' ? title : null,
    help: typeof description === 'string' ? description : '',
    shape: shapeOf(inner, path, depth),
  }
}

/** `string | null` is a string that may be left out. */
function withoutNull(schema: Schema): { readonly inner: Schema; readonly isNullable: boolean } {
  const { type, anyOf } = schema
  if (Array.isArray(type) && type.length === 2 && type.includes('null'))
    return { inner: { ...schema, type: type.find((each) => each !== 'null') }, isNullable: true }
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return { inner: schema, isNullable: false }
  const inner = anyOf.find((each) => isSchema(each) && each.type !== 'null')
  const isNullable = anyOf.some((each) => isSchema(each) && each.type === 'null')
  return isNullable && isSchema(inner) ? { inner, isNullable } : { inner: schema, isNullable: false }
}

function shapeOf(schema: Schema, path: string, depth: number): Shape {
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return { kind: 'choice', values: schema.enum }
  if ('const' in schema) return { kind: 'choice', values: [schema.const] }
  const simple = simpleOf(schema)
  if (simple) return simple
  if (schema.type === 'boolean') return { kind: 'boolean' }
  if (schema.type === 'array') return listOf(schema.items)
  return schema.type === 'object' && depth < MAX_DEPTH ? objectOf(schema, path, depth) : { kind: 'json' }
}

function simpleOf(schema: Schema): SimpleShape | null {
  if (schema.type === 'string') return { kind: 'text', note: textNote(schema) }
  const isWhole = schema.type === 'integer'
  return isWhole || schema.type === 'number' ? { kind: 'number', isWhole, note: numberNote(schema) } : null
}

function listOf(items: unknown): Shape {
  const item = isSchema(items) && !('enum' in items) && !('const' in items) ? simpleOf(items) : null
  return item ? { kind: 'list', item } : { kind: 'json' }
}

function objectOf({ properties, required }: Schema, path: string, depth: number): Shape {
  const names = isSchema(properties) ? Object.entries(properties) : []
  if (names.length === 0) return { kind: 'json' }
  const needed = new Set(Array.isArray(required) ? required : [])
  const fields = names.map(([name, schema]) =>
    fieldOf({ name, path: within(path, name), schema, isRequired: needed.has(name), depth: depth + 1 }),
  )
  return { kind: 'object', fields }
}

/** As the API writes a path. */
const within = (path: string, name: string) =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`

function textNote({ format, minLength, maxLength }: Schema): string {
  const length = rangeNote(minLength, maxLength)
  return [typeof format === 'string' && format, length && `${length} characters`].filter(Boolean).join(', ')
}

function numberNote({ minimum, maximum }: Schema): string {
  return rangeNote(minimum, maximum)
}

/** Bounds of all safe integers are left out: they say nothing. */
function rangeNote(min: unknown, max: unknown): string {
  const from = typeof min === 'number' && min > Number.MIN_SAFE_INTEGER ? number(min) : null
  const to = typeof max === 'number' && max < Number.MAX_SAFE_INTEGER ? number(max) : null
  if (from !== null && to !== null) return `${from} to ${to}`
  return from === null ? (to === null ? '' : `at most ${to}`) : `at least ${from}`
}

/** "a whole number, 1 to 10", "one of a, b", "a list of texts". */
export function shapeInWords(shape: Shape): string {
  switch (shape.kind) {
    case 'text':
      return noted('text', shape.note)
    case 'number':
      return noted(shape.isWhole ? 'whole number' : 'number', shape.note)
    case 'boolean':
      return 'yes or no'
    case 'choice':
      return `${shape.values.length === 1 ? 'always' : 'one of'} ${shape.values.map(valueInWords).join(', ')}`
    case 'list':
      return `list of ${shape.item.kind === 'text' ? 'texts' : 'numbers'}`
    case 'object':
      return 'object'
    case 'json':
      return 'any JSON that fits the schema'
  }
}

/** It accepts every value: only what it is called is said. */
export const isAnything = (schema: unknown) =>
  schema === true || (isSchema(schema) && Object.keys(schema).every((key) => ANNOTATIONS.includes(key)))

const ANNOTATIONS = ['$schema', '$id', '$comment', 'title', 'description', 'default', 'examples']

const noted = (word: string, note: string) => (note === '' ? word : `${word}, ${note}`)

/** A text as it is, anything else as JSON. */
export const valueInWords = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
