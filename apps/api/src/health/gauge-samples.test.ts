import { SPARK_MINUTES } from '@oncue/core/wire'
import type { Gauge, GaugeSample } from '@oncue/db'
import { describe, expect, it } from 'vitest'
import { gaugeIn, pointsOf, sparkOf } from './gauge-samples.ts'

const MINUTE = 60_000
const START = Date.parse('2026-01-01T12:00:00Z')
const at = (minute: number) => new Date(START + minute * MINUTE)
const gauge = (waiting: number, workers = 1): Gauge => ({
  ...{ waiting, running: 0, oldestMs: waiting * 1_000, workers, slots: workers * 10 },
})
const sample = (
  minute: number,
  waiting: number,
  queues: Record<string, Gauge> = {},
  workers = 1,
): GaugeSample => ({
  minute: at(minute),
  whole: gauge(waiting, workers),
  queues: new Map(Object.entries(queues)),
})

describe('a sparkline', () => {
  const waitingOf = ({ whole }: GaugeSample) => whole.waiting

  it('shows the last minutes and ends with the current state', () => {
    const samples = Array.from({ length: 60 }, (_, n) => sample(n, n))
    const spark = sparkOf(sample(59, 1_000), samples)(waitingOf)
    expect(spark).toHaveLength(SPARK_MINUTES)
    expect(spark).toEqual([...Array.from({ length: SPARK_MINUTES - 1 }, (_, n) => 30 + n), 1_000])
  })

  it('repeats the last sample where one is missing, and begins with zero', () => {
    const spark = sparkOf(sample(29, 9), [sample(2, 5), sample(5, 7)])(waitingOf)
    expect(spark.slice(0, 8)).toEqual([0, 0, 5, 5, 5, 7, 7, 7])
    expect(spark.slice(-2)).toEqual([7, 9])
  })

  it('of a queue is zero where a sample does not contain it', () => {
    const samples = [sample(27, 5, { mail: gauge(5) }), sample(28, 5, { media: gauge(5) })]
    const spark = sparkOf(sample(29, 9), samples)((seen) => gaugeIn(seen, 'mail').waiting)
    expect(spark.slice(-3)).toEqual([5, 0, 0])
  })
})

describe('the points of a chart', () => {
  it('are the minutes with a sample', () => {
    const points = pointsOf([sample(0, 1), sample(2, 3)], null, 1)
    expect(points).toEqual([
      { minute: at(0), ...gauge(1) },
      { minute: at(2), ...gauge(3) },
    ])
  })

  it('of several minutes are the worst of them: most waiting, fewest workers', () => {
    const samples = [
      sample(4, 1, {}, 2),
      sample(5, 1, {}, 3),
      sample(6, 9, {}, 3),
      sample(7, 2, {}, 1),
      sample(10, 4),
    ]
    expect(pointsOf(samples, null, 5)).toEqual([
      { minute: at(0), ...gauge(1, 2) },
      { minute: at(5), ...gauge(9, 1) },
      { minute: at(10), ...gauge(4) },
    ])
  })

  it('of a queue have no worker count while it was empty', () => {
    const samples = [sample(0, 1, { mail: gauge(1, 4) }), sample(1, 1), sample(2, 1)]
    const empty = { waiting: 0, running: 0, oldestMs: 0, workers: null, slots: null }
    expect(pointsOf(samples, 'mail', 1)).toEqual([
      { minute: at(0), ...gauge(1, 4) },
      { minute: at(1), ...empty },
      { minute: at(2), ...empty },
    ])
    expect(pointsOf(samples, 'mail', 2)).toEqual([
      { minute: at(0), ...gauge(1, 4) },
      { minute: at(2), ...empty },
    ])
  })
})
