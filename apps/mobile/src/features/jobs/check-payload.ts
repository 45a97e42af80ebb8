import type { SchemaField, Shape } from '../topics/schema.ts'

interface Fault {
  /** `payload.user.name`; null: it is no JSON at all. */
  readonly path: string | null
  readonly text: string
}

export interface CheckedPayload {
  readonly value: unknown
  readonly faults: readonly Fault[]
}

/** What is wrong with a payload as it is typed: JSON, then the fields of the schema. The API has the last word. */
export function checkPayload(text: string, schema: SchemaField): CheckedPayload {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    return { value: null, faults: [{ path: null, text: `This is not valid JSON. ${reason}`.trim() }] }
  }
  const faults: Fault[] = []
  check(schema, value, faults)
  findInexact(value, 'payload', faults)
  return { value, faults }
}

function check({ path, shape, isNullable, isRequired }: SchemaField, value: unknown, faults: Fault[]): void {
  if (value === undefined) {
    if (isRequired) faults.push({ path, text: 'is missing' })
    return
  }
  if (value === null && isNullable) return
  if (shape.kind === 'object' && isObject(value)) {
    for (const field of shape.fields)
      check(field, Object.hasOwn(value, field.name) ? value[field.name] : undefined, faults)
    return
  }
  const wanted = wantedOf(shape, value)
  if (wanted !== null) faults.push({ path, text: `must be ${wanted}` })
}

/** What it should be; null: it is. */
function wantedOf(shape: Shape, value: unknown): string | null {
  switch (shape.kind) {
    case 'text':
      return typeof value === 'string' ? null : 'a text'
    case 'number':
      if (typeof value !== 'number') return 'a number'
      return !shape.isWhole || Number.isInteger(value) ? null : 'a whole number'
    case 'boolean':
      return typeof value === 'boolean' ? null : 'true or false'
    case 'choice': {
      const allowed = shape.values.map((each) => JSON.stringify(each))
      return allowed.includes(JSON.stringify(value)) ? null : `one of ${allowed.join(', ')}`
    }
    case 'list':
      if (!Array.isArray(value)) return 'a list'
      return value.every((item) => wantedOf(shape.item, item) === null)
        ? null
        : `a list of ${shape.item.kind}s`
    case 'object':
      return 'an object'
    case 'json':
      return null
  }
}

/** Beyond 2^53 digits are lost as soon as the text is read. */
function findInexact(value: unknown, path: string, faults: Fault[]): void {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    faults.push({ path, text: 'is too large to be exact: write it as a text' })
  else if (Array.isArray(value))
    for (const [n, item] of value.entries()) findInexact(item, `${path}[${n}]`, faults)
  else if (isObject(value))
    for (const [name, inner] of Object.entries(value)) findInexact(inner, `${path}.${name}`, faults)
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
