import { describe, expect, it } from 'vitest'
import { decodeDates, encodeDates } from './dates.ts'

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
  it('is decoded as it was encoded', () => {
    expect(decodeDates(overWire(encodeDates(value)))).toEqual(value)
  })
})

it.each<[string, unknown]>([
  ['input is', new Date(Number.NaN)],
  ['input.filter.createdFrom is', { filter: { createdFrom: new Date('31.12.2026 10:00') } }],
  ['input.items.1.at is', { items: [{ at: day }, { at: new Date(Number.NaN) }] }],
])('an invalid date is refused: %s', (message, value) => {
  expect(() => encodeDates(value)).toThrow(
    expect.objectContaining({ code: 'INVALID_DATE', message: `${message} an invalid Date` }),
  )
})

describe('input that is not encoded this way', () => {
  it.each([[undefined], [null], ['text'], [{ error: { code: 'NOT_FOUND' } }]])(
    'is left alone: %j',
    (value) => {
      expect(decodeDates(value)).toBe(value)
    },
  )

  it('is harmless', () => {
    const wire = { json: { a: 1 }, meta: { values: { 'b.c': ['Date'], a: ['Date'] }, v: 1 } }
    expect(decodeDates(wire)).toEqual({ a: 1 })
  })

  it.each(['__proto__.polluted', 'constructor.prototype.polluted', 'list.__proto__.polluted', 'list.length'])(
    'leaves what every object inherits alone: %s',
    (path) => {
      const text = JSON.stringify('2026-01-08T12:00:00.000Z')
      const wire = JSON.parse(`{"json":{"list":[${text}]},"meta":{"values":{"${path}":["Date"]},"v":1}}`)
      const names = () => [Object.prototype, Array.prototype].map((each) => Object.getOwnPropertyNames(each))
      const before = names()
      expect(decodeDates(wire)).toEqual({ list: [JSON.parse(text)] })
      const after = names()
      for (const each of [Object.prototype, Array.prototype]) Reflect.deleteProperty(each, 'polluted')
      expect(after).toEqual(before)
    },
  )

  it('reads a field that is called __proto__ as any other', () => {
    const wire = JSON.parse(
      '{"json":{"__proto__":{"at":"2026-01-08T12:00:00.000Z"}},"meta":{"values":{"__proto__.at":["Date"]},"v":1}}',
    )
    const [[name, value] = []] = Object.entries(decodeDates(wire) as object)
    expect([name, value]).toEqual(['__proto__', { at: day }])
  })
})
