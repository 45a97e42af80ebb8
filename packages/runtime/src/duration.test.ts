import { describe, expect, test } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'

describe('durations', () => {
  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['250', 250],
    ['0', 0],
  ])('%s is %i ms', (text, ms) => expect(parseDuration(text)).toBe(ms))

  test.each(['', 's', '-1s', '1w', '1e3', '5 minutes', '9'.repeat(20)])('%j is not a duration', (text) =>
    expect(parseDuration(text)).toBeNull(),
  )

  test.each([
    [0, '0ms'],
    [999, '999ms'],
    [1_949, '1.9s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [192_000, '3m 12s'],
    [7_260_000, '2h 1m'],
    [90_000_000, '1d 1h'],
    [-90_000, '-1m 30s'],
  ])('%i ms reads as %s', (ms, text) => expect(formatDuration(ms)).toBe(text))
})
