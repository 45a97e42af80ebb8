import { describe, expect, it } from 'vitest'
import { formatCount, formatDuration, formatPercent } from './format.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe('format', () => {
  it.each([
    [-5_000, '0 s'],
    [59_999, '59 s'],
    [MINUTE, '1 min'],
    [HOUR - 1, '59 min'],
    [HOUR, '1 h'],
    [48 * HOUR - 1, '47 h'],
    [48 * HOUR, '2 d'],
  ])('%i ms are %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })

  it.each([
    [0, '0%'],
    [0.0004, '<0.1%'],
    [0.014, '1.4%'],
    [0.1379, '14%'],
    [0.149, '15%'],
    [0.997, '99%'],
    [0.9999, '>99.9%'],
    [1, '100%'],
  ])('a share of %d is %s', (rate, text) => {
    expect(formatPercent(rate)).toBe(text)
  })

  it('counts in the plural, and shows large numbers in full', () => {
    expect([0, 1, 2, 1_234_567].map((count) => formatCount(count, 'job'))).toEqual([
      '0 jobs',
      '1 job',
      '2 jobs',
      '1,234,567 jobs',
    ])
  })
})
