import { DURATION_BUCKETS_MS } from '@oncue/db'
import { describe, expect, it } from 'vitest'
import { writeHistogram } from './metrics.ts'

describe('a histogram for Prometheus', () => {
  const countsOf = (...durations: number[]) =>
    DURATION_BUCKETS_MS.map((endMs, n) => {
      const isLast = n === DURATION_BUCKETS_MS.length - 1
      const from = DURATION_BUCKETS_MS[n - 1] ?? 0
      return durations.filter((ms) => ms >= from && (ms < endMs || isLast)).length
    })
  const numberAt = (text: string, name: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length + 1),
    )

  it('counts cumulatively, with the last bucket only in +Inf', () => {
    const text = writeHistogram('t', 'Times', countsOf(0, 2, 500, 500, 10 ** 9))
    expect(text.split('\n').slice(0, 2)).toEqual(['# HELP t Times', '# TYPE t histogram'])
    expect(numberAt(text, 't_bucket{le="0.001"}')).toBe(1)
    expect(numberAt(text, 't_bucket{le="0.003"}')).toBe(2)
    expect(numberAt(text, 't_bucket{le="0.255"}')).toBe(2)
    expect(numberAt(text, 't_bucket{le="0.511"}')).toBe(4)
    expect(numberAt(text, 't_bucket{le="8388.607"}')).toBe(4)
    expect(numberAt(text, 't_bucket{le="+Inf"}')).toBe(5)
    expect(numberAt(text, 't_count')).toBe(5)
  })

  it('estimates the sum to within a fifth', () => {
    const text = writeHistogram('t', 'Times', countsOf(1_000, 5_000, 60_000))
    expect(numberAt(text, 't_sum')).toBeGreaterThan(66 * 0.8)
    expect(numberAt(text, 't_sum')).toBeLessThan(66 * 1.2)
  })
})
