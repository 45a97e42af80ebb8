import { expect, it } from 'vitest'
import { steady } from './steady.ts'

const idOf = ({ id }: { id: string }) => id
const group = (id: string, count: number) => ({ id, count })

it('keeps every row in its place, with its newest number', () => {
  const { rows, waiting } = steady([group('a', 1), group('b', 2)], [group('b', 9), group('a', 4)], idOf)
  expect(rows.map(({ item }) => item)).toEqual([group('a', 4), group('b', 9)])
  expect(waiting).toBe(0)
})

it('counts new rows without showing them yet', () => {
  const { rows, waiting } = steady([group('a', 1)], [group('c', 1), group('a', 1), group('d', 1)], idOf)
  expect(rows.map(({ item }) => item.id)).toEqual(['a'])
  expect(waiting).toBe(2)
})

it('keeps the row of an item that is gone', () => {
  const { rows } = steady([group('a', 1), group('b', 2)], [group('b', 2)], idOf)
  expect(rows.map(({ item, isGone }) => [item.id, isGone])).toEqual([
    ['a', true],
    ['b', false],
  ])
})
