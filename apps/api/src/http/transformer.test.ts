import { encodeDates } from '@oncue/core/wire'
import superjson from 'superjson'
import { expect, it } from 'vitest'

const day = new Date('2026-01-08T12:00:00.000Z')

it.each<[string, unknown]>([
  ['a date', day],
  ['plain JSON', { a: [1, null, 'x'], b: false }],
  ['dates in objects and lists', { items: [{ created: day, finishedAt: null }, { created: day }] }],
  ['names with dots and backslashes', { 'a.b': { 'c\\': day, 'd\\.e': [day] } }],
  ['names of the language', { constructor: { prototype: 1 }, at: day }],
])('superjson reads our output: %s', (_, value) => {
  expect(superjson.deserialize(JSON.parse(JSON.stringify(encodeDates(value))))).toEqual(value)
})
