import { describe, expect, it } from 'vitest'
import { gaugesOf, isNear, rangeOf, seriesOf } from './series.ts'

const at = (time: string) => new Date(`2026-11-16T${time}Z`)
const percentiles = (p50: number | null) => ({ p50, p95: p50, p99: p50 })

describe('rangeOf', () => {
  it('ends with the last whole minute of an hour', () => {
    const { from, to } = rangeOf('1h', at('03:12:45').getTime())
    expect([from, to]).toEqual([at('02:12:00'), at('03:12:00')])
  })

  it('ends with the last whole step of a day', () => {
    const { from, to, stepMinutes } = rangeOf('24h', at('03:12:45').getTime())
    expect([from, to, stepMinutes]).toEqual([new Date('2026-11-15T03:10:00Z'), at('03:10:00'), 10])
  })
})

describe('seriesOf', () => {
  const range = { from: at('03:00:00'), to: at('03:30:00'), stepMinutes: 10 }

  it('has every step, including those without data', () => {
    const point = { minute: at('03:10:00'), completed: 20, failed: 2, cancelled: 0, retried: 3 }
    const series = seriesOf([{ ...point, wait: percentiles(120), run: percentiles(null) }], range)
    expect(series.times).toEqual([at('03:00:00'), at('03:10:00'), at('03:20:00')])
    expect(series.completed).toEqual([0, 20, 0])
    expect(series.failed).toEqual([0, 5, 0])
    expect(series.failureRate).toEqual([null, 0.2, null])
    expect(series.wait.p95).toEqual([null, 120, null])
    expect(series.run.p50).toEqual([null, null, null])
  })
})

it('knows nothing of steps in which no one measured', () => {
  const range = { from: at('03:00:00'), to: at('03:03:00'), stepMinutes: 1 }
  const gauge = { waiting: 0, running: 0, oldestMs: 0, workers: 1, slots: 10 }
  const points = [
    { ...gauge, minute: at('03:00:00') },
    { ...gauge, minute: at('03:02:00'), waiting: 7, oldestMs: 900 },
  ]
  const { waiting, oldestMs } = gaugesOf(points, range)
  expect(waiting).toEqual([0, null, 7])
  expect(oldestMs).toEqual([0, null, 900])
})

it.each([
  { values: [null, 10], near: false },
  { values: [null, 80], near: true },
  { values: [], near: false },
])('a threshold of 300 is near to $values: $near', ({ values, near }) => {
  expect(isNear(300, values)).toBe(near)
})
