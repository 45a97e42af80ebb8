import { describe, expect, test } from 'vitest'
import type { Sample } from './cell.ts'
import { ratioOf, summarise } from './summary.ts'

const sample = (contender: string, round: number, drainPerSecond: number | null, rest = {}): Sample => ({
  contender,
  shape: 'no-op',
  size: 40_000,
  jobs: 40_000,
  processes: 1,
  round,
  enqueuePerSecond: 10,
  drainPerSecond,
  serverCpuMicros: null,
  workerCpuMicros: 5,
  enqueueWalBytes: null,
  drainWalBytes: null,
  wrongRuns: 0,
  load: 0,
  ...rest,
})

describe('summarise', () => {
  test('takes the median, the least and the most of a cell', () => {
    const [row] = summarise([sample('a', 1, 10), sample('a', 2, 30), sample('a', 3, 11)])
    expect(row?.drainPerSecond).toEqual({ median: 11, min: 10, max: 30 })
  })

  test('keeps cells apart', () => {
    const samples = [
      sample('a', 1, 1),
      sample('b', 1, 1),
      sample('a', 1, 1, { processes: 2 }),
      sample('a', 1, 1, { size: 200_000 }),
      sample('a', 1, 1, { shape: 'keys' }),
    ]
    expect(summarise(samples)).toHaveLength(5)
  })

  test('leaves out what was not measured', () => {
    const [row] = summarise([sample('a', 1, null), sample('a', 0, null, { drainWalBytes: 600 })])
    expect(row?.drainPerSecond).toBeNull()
    expect(row?.drainWalBytes?.median).toBe(600)
  })

  test('adds up the jobs that ran wrongly', () => {
    const [row] = summarise([sample('a', 1, 1, { wrongRuns: 2 }), sample('a', 2, 1, { wrongRuns: 1 })])
    expect(row?.wrongRuns).toBe(3)
  })
})

describe('ratioOf', () => {
  const [oncue, other] = [sample('oncue', 1, 20), sample('other', 1, 10)]
  const drain = (one: Sample) => one.drainPerSecond

  test('divides within rounds', () => {
    const samples = [oncue, other, sample('oncue', 2, 3), sample('other', 2, 2), sample('oncue', 3, 99)]
    expect(ratioOf(samples, oncue, other, drain)).toBe(1.75)
  })

  test('is null without a pair', () => {
    expect(ratioOf([oncue], oncue, other, drain)).toBeNull()
    expect(ratioOf([oncue, sample('other', 1, null)], oncue, other, drain)).toBeNull()
  })
})
