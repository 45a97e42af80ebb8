import { describe, expect, it } from 'vitest'
import { enteredOf, fieldAt, readForm } from './form.ts'
import { payloadField } from './schema.ts'

const address = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const FORM = payloadField({
  type: 'object',
  properties: {
    userId: { type: 'string' },
    copies: { type: 'integer', default: 2 },
    kind: { enum: ['daily', 7] },
    urgent: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'number' } },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    address,
    extra: {},
  },
  required: ['userId', 'note'],
})
const at = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(values).map(([name, text]) => [`payload.${name}`, text]))

describe('readForm', () => {
  it('leaves out empty fields, and writes null for required keys', () => {
    expect(readForm(FORM, at({ userId: 'u1' }))).toEqual({ ok: true, value: { userId: 'u1', note: null } })
  })

  it('reads each kind', () => {
    const typed = at({
      ...{ userId: '042', copies: '1,000', kind: '7', urgent: 'false', tags: '1\n\n 2.5 ' },
      ...{ note: 'hello', 'address.city': 'Berlin', extra: '{"a":[1]}' },
    })
    expect(readForm(FORM, typed)).toEqual({
      ok: true,
      value: {
        ...{ userId: '042', copies: 1_000, kind: 7, urgent: false, tags: [1, 2.5], note: 'hello' },
        ...{ address: { city: 'Berlin' }, extra: { a: [1] } },
      },
    })
  })

  it.each([
    [{}, 'userId'],
    [{ userId: 'u', copies: 'two' }, 'copies'],
    [{ userId: 'u', copies: '1.5' }, 'copies'],
    [{ userId: 'u', copies: '12345678901234567890' }, 'copies'],
    [{ userId: 'u', tags: '1\nx' }, 'tags'],
    [{ userId: 'u', extra: '{' }, 'extra'],
  ])('says what is wrong with %j at %s', (values, field) => {
    const checked = readForm(FORM, at(values))
    expect(checked.ok ? [] : Object.keys(checked.errors)).toEqual([`payload.${field}`])
  })

  it('asks for every field of a required object', () => {
    const form = payloadField({ type: 'object', properties: { address }, required: ['address'] })
    const checked = readForm(form, {})
    expect(checked.ok ? [] : Object.keys(checked.errors)).toEqual(['payload.address.city'])
  })

  it('takes any JSON without a schema, and null for an empty field', () => {
    const form = payloadField(null)
    expect(readForm(form, { payload: '[1]' })).toEqual({ ok: true, value: [1] })
    expect(readForm({ ...form, isRequired: false }, {})).toEqual({ ok: true, value: null })
  })
})

it('begins with the defaults', () => {
  expect(enteredOf(FORM)).toEqual({ 'payload.copies': '2' })
})

it.each([
  ['payload.tags[0]', 'payload.tags'],
  ['payload.address.city', 'payload.address.city'],
  ['payload.extra.deep[1].x', 'payload.extra'],
  ['payload.userIdentity', null],
  ['payload', null],
])('an error at %s is shown at %s', (path, field) => {
  expect(fieldAt(FORM, path)).toBe(field)
})
