import { describe, expect, it } from 'vitest'
import { isAnything, payloadField, type SchemaField, shapeInWords } from './schema.ts'

const objectOf = (properties: object, required: readonly string[] = []) => ({
  ...{ type: 'object', properties, required, additionalProperties: false },
})
const fieldsOf = (schema: unknown): readonly SchemaField[] => {
  const { shape } = payloadField(schema)
  return shape.kind === 'object' ? shape.fields : []
}
const fieldOf = (schema: unknown) => fieldsOf(objectOf({ it: schema }))[0]

describe('a field of a schema', () => {
  it.each([
    [{ type: 'string' }, 'text'],
    [{ type: 'string', format: 'email' }, 'text, email'],
    [{ type: 'string', minLength: 1, maxLength: 80 }, 'text, 1 to 80 characters'],
    [{ type: 'integer', minimum: 1, maximum: 9_007_199_254_740_991 }, 'whole number, at least 1'],
    [{ type: 'number', maximum: 1_000 }, 'number, at most 1,000'],
    [{ type: 'boolean' }, 'yes or no'],
    [{ enum: ['a', 'b', 3] }, 'one of a, b, 3'],
    [{ const: 'a' }, 'always a'],
    [{ type: 'array', items: { type: 'string' } }, 'list of texts'],
    [{ type: ['integer', 'null'] }, 'whole number'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'text'],
  ])('%j: %s', (schema, words) => {
    const field = fieldOf(schema)
    expect(field && shapeInWords(field.shape)).toBe(words)
  })

  it.each([
    { anyOf: [{ type: 'string' }, { type: 'number' }] },
    { type: 'array', items: { type: 'object', properties: { a: {} } } },
    { type: 'object', additionalProperties: { type: 'string' } },
    { $ref: '#' },
    {},
    true,
  ])('%j is left to JSON', (schema) => {
    expect(fieldOf(schema)?.shape).toEqual({ kind: 'json' })
  })

  it('is named as the API names it', () => {
    const schema = objectOf({ user: objectOf({ 'first name': { type: 'string' } }) }, ['user'])
    const [user] = fieldsOf(schema)
    expect(user).toMatchObject({ path: 'payload.user', isRequired: true })
    const inner = user?.shape.kind === 'object' ? user.shape.fields : []
    expect(inner).toMatchObject([{ path: 'payload.user["first name"]', isRequired: false }])
  })

  it('is optional if it may be null or has a default', () => {
    const schema = objectOf(
      { many: { type: 'integer', default: 3 }, note: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
      ['many', 'note'],
    )
    expect(fieldsOf(schema)).toMatchObject([
      { isRequired: false, isNullable: false, fallback: 3 },
      { isRequired: true, isNullable: true },
    ])
  })
})

it('a payload that is no object is one JSON field', () => {
  expect(payloadField({ anyOf: [] }).shape).toEqual({ kind: 'json' })
  expect(payloadField(null).shape).toEqual({ kind: 'json' })
})

it.each([
  [{ $schema: 'https://json-schema.org/draft/2020-12/schema' }, true],
  [{}, true],
  [true, true],
  [{ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }, false],
  [{ anyOf: [] }, false],
  [null, false],
])('%j accepts any JSON: %s', (schema, is) => {
  expect(isAnything(schema)).toBe(is)
})
