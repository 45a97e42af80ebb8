import { expect, it } from 'vitest'
import { diffJson } from './json-diff.ts'

it.each([
  ['nothing', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
  ['a value', { a: 1, b: 2 }, { a: 1, b: 3 }, [{ path: ['b'], before: 2, after: 3 }]],
  ['a kind of value', { a: 1 }, { a: '1' }, [{ path: ['a'], before: 1, after: '1' }]],
  ['a field that is gone', { a: 1 }, {}, [{ path: ['a'], before: 1 }]],
  ['a field that came', {}, { a: null }, [{ path: ['a'], after: null }]],
  [
    'an item',
    [1, [2]],
    [1, [3], 4],
    [
      { path: [1, 0], before: 2, after: 3 },
      { path: [2], after: 4 },
    ],
  ],
  ['a list for an object', { a: [] }, { a: {} }, [{ path: ['a'], before: [], after: {} }]],
  ['the whole', { a: 1 }, 7, [{ path: [], before: { a: 1 }, after: 7 }]],
  [
    'keys of Object itself',
    {},
    JSON.parse('{"__proto__":1,"constructor":2}'),
    [
      { path: ['__proto__'], after: 1 },
      { path: ['constructor'], after: 2 },
    ],
  ],
])('finds %s', (_, before, after, changes) => {
  expect(diffJson(before, after)).toEqual({ changes, more: 0 })
})

it('names as many as are wanted, and counts the others', () => {
  const after = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`f${n}`, n]))
  const { changes, more } = diffJson({}, after, 20)
  expect([changes.length, more]).toEqual([20, 230])
})
