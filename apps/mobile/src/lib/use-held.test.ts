import { expect, it } from 'vitest'
import { countNew } from './use-held.ts'

const idOf = (id: string) => id

it.each([
  { shown: ['a', 'b'], latest: ['a', 'b'], waiting: 0 },
  { shown: ['a', 'b'], latest: ['c', 'a', 'b'], waiting: 1 },
  { shown: ['a', 'b'], latest: ['d', 'c'], waiting: 2 },
  { shown: ['a'], latest: [], waiting: 0 },
])('$waiting of $latest are new while $shown is displayed', ({ shown, latest, waiting }) => {
  expect(countNew(shown, latest, idOf)).toBe(waiting)
})
