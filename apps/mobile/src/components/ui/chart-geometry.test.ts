import { expect, it } from 'vitest'
import { areaOf, bandsOf, barsOf, lineOf, niceMax, scaleOf } from './chart-geometry.ts'

it.each([
  [0, 1],
  [0.3, 0.5],
  [1, 1],
  [7, 10],
  [11, 20],
  [204, 500],
  [5_001, 10_000],
])('an axis for %d ends at %d', (value, end) => expect(niceMax(value)).toBe(end))

it('draws from zero to the end of the axis, from edge to edge', () => {
  const scale = scaleOf([[0, 5, 10]], { width: 100, height: 50 })
  expect(lineOf([0, 5, 10], scale)).toBe('M0 50L50 25L100 0')
  expect(areaOf([0, 5, 10], scale)).toBe('M0 50L0 50L50 25L100 0L100 50Z')
})

it('keeps the threshold within the chart', () => {
  const { y } = scaleOf([[1, 2]], { width: 10, height: 100, threshold: 100 })
  expect(y(100)).toBeGreaterThan(0)
})

it('leaves a gap where a value is unknown, and draws a dot for a single value', () => {
  const values = [1, null, 1, 1]
  const scale = scaleOf([values], { width: 30, height: 10 })
  expect(lineOf(values, scale)).toBe('M0 0h0M20 0L30 0')
  expect(areaOf(values, scale)).toBe('M0 10L0 0L0 10ZM20 10L20 0L30 0L30 10Z')
})

it('draws an empty series', () => {
  expect(lineOf([], scaleOf([[]], { width: 10, height: 10 }))).toBe('')
})

it('stacks bars, each in the middle of its band, and none where there is nothing', () => {
  const bands = bandsOf(2, 10, { width: 200, height: 100 })
  expect(barsOf([5, 0], [], bands)).toBe('M14 100V50H86V100Z')
  expect(barsOf([2, null], [[5, 0]], bands)).toBe('M14 50V30H86V50Z')
})
