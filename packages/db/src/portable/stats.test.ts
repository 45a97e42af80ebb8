import { expect, test } from 'vitest'
import { addLetters, bucketOf, emptyHistogram, quantile } from './stats.ts'

function histogramOf(durations: readonly number[]) {
  const histogram = emptyHistogram()
  addLetters(histogram, durations.map(bucketOf).join(''))
  return histogram
}

test('a quantile of nothing is null', () => {
  expect(quantile(emptyHistogram(), 0.5)).toBeNull()
})

test('durations of 0 ms have quantiles of 0 ms', () => {
  const histogram = histogramOf(Array(10).fill(0))
  expect([0.5, 0.95, 0.99].map((q) => quantile(histogram, q))).toEqual([0, 0, 0])
})

// From 1,023 to 1,447 ms: half powers of two, less one.
test.each([
  [0.25, 1_116],
  [0.5, 1_217],
  [0.75, 1_327],
  [1, 1_447],
])('the quantile %d of one bucket lies that far between its ends, on a logarithmic scale', (q, expected) => {
  expect(quantile(histogramOf(Array(100).fill(1_200)), q)).toBe(expected)
})

test('a quantile between two buckets is in the first that reaches it', () => {
  const histogram = histogramOf([10, 10, 1_200, 1_200])
  expect(quantile(histogram, 0.5)).toBe(10)
  expect(quantile(histogram, 0.75)).toBe(1_217)
})
