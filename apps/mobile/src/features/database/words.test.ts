import { expect, it } from 'vitest'
import { inUnitsOfApp } from './words.ts'

const plain = (text: string) => inUnitsOfApp(text).replaceAll('\u00a0', ' ')

it.each([
  ['oldest waiting job 12m 4s old', 'oldest waiting job 12 min 4 s old'],
  ['7 jobs, 3h 2m old, 450ms', '7 jobs, 3 h 2 min old, 450 ms'],
  ['pid 7 has been open for 40 min', 'pid 7 has been open for 40 min'],
  ['jobs_5m, 12 MB, none', 'jobs_5m, 12 MB, none'],
])('%s', (found, shown) => {
  expect(plain(found)).toBe(shown)
})
