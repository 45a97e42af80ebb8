import { expect, it } from 'vitest'
import { trendOf } from './trend.ts'

const minutes = (before: number, recent: number, running: number) => [
  ...Array.from({ length: 24 }, () => before),
  ...Array.from({ length: 5 }, () => recent),
  running,
]

it.each([
  ['nothing at all', minutes(0, 0, 0), 'steady'],
  ['a little more', minutes(100, 110, 110), 'steady'],
  ['much more', minutes(100, 140, 140), 'rising'],
  ['from nothing', minutes(0, 3, 3), 'rising'],
  ['much less', minutes(100, 60, 60), 'falling'],
  ['down to nothing', minutes(12, 0, 0), 'falling'],
  ['a minute that has only just begun', minutes(100, 100, 2), 'steady'],
] as const)('%s: %j is %s', (_, spark, trend) => {
  expect(trendOf(spark)).toBe(trend)
})
