import { describe, expect, it } from 'vitest'
import { decodeDates, encodeDates } from './wire-dates.ts'

const day = new Date('2026-01-08T12:00:00.000Z')
const overWire = (value: unknown) => JSON.parse(JSON.stringify(value))

describe.each<[string, unknown]>([
  ['a date', day],
  ['plain JSON', { a: [1, null, 'x'], b: false }],
  ['dates in objects and lists', { items: [{ created: day, finishedAt: null }, { created: day }] }],
  ['names with dots and backslashes', { 'a.b': { 'c\\': day, 'd\\.e': [day] } }],
  ['an empty name', { '': { '': day }, a: { '': day } }],
  ['names of the language', { constructor: { prototype: 1 }, at: day }],
  ['a text that looks like a date', { at: day.toJSON() }],
  ['null', null],
])('%s', (_, value) => {
  it('comes back as it was sent', () => {
    expect(decodeDates(overWire(encodeDates(value)))).toEqual(value)
  })
})

describe('what is not written so', () => {
  it.each([[undefined], [null], ['text'], [{ error: { code: 'NOT_FOUND' } }]])(
    'is left alone: %j',
    (value) => {
      expect(decodeDates(value)).toBe(value)
    },
  )

  it('does no harm', () => {
    const wire = { json: { a: 1 }, meta: { values: { 'b.c': ['Date'], a: ['Date'] }, v: 1 } }
    expect(decodeDates(wire)).toEqual({ a: 1 })
  })
})
