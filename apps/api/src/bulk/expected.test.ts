import { describe, expect, it } from 'vitest'
import { assertExpected } from './expected.ts'

describe('a count', () => {
  it.each([
    [312, 312],
    [0, 0],
    [0, 10],
    [10, 0],
    [100, 110],
    [100_000, 110_000],
    [100_000, 91_000],
  ])('of %i is near enough to %i', (total, expected) => {
    expect(() => assertExpected({ total, totalIsExact: true }, expected)).not.toThrow()
  })

  it.each([
    [0, 11],
    [11, 0],
    [100, 120],
    [312, 4_210],
    [100_000, 90_000],
  ])('of %i is far from %i', (total, expected) => {
    expect(() => assertExpected({ total, totalIsExact: true }, expected)).toThrow(
      `${total} jobs match, but ${expected} were expected`,
    )
  })

  it('of 100000 or more fits an expectation of "at least 100000"', () => {
    const told = 100_000
    for (const total of [100_000, 250_001])
      expect(() => assertExpected({ total, totalIsExact: true }, told)).not.toThrow()
    expect(() => assertExpected({ total: 80_000, totalIsExact: true }, told)).toThrow('80000 jobs match')
  })

  it('of at least 100000 fits the same expectation or a larger one, and no smaller one', () => {
    const counted = { total: 100_000, totalIsExact: false }
    for (const expected of [100_000, 5_000_000]) expect(() => assertExpected(counted, expected)).not.toThrow()
    expect(() => assertExpected(counted, 312)).toThrow('At least 100000 jobs match, but 312 were expected')
  })
})
