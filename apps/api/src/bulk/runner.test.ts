import { describe, expect, it } from 'vitest'
import { batchRate } from './runner.ts'

describe('the batch rate of a bulk operation', () => {
  it.each([
    ['all at once', 0, 1_000, 0, Number.POSITIVE_INFINITY],
    ['nothing to do', 60_000, 0, 0, Number.POSITIVE_INFINITY],
    ['many in a short time', 60_000, 100_000, 0.6, 1_667],
    ['as many as seconds', 600_000, 600, 1_000, 1],
    ['few in a long time', 600_000, 2, 300_000, 1],
    ['some each second', 600_000, 12_000, 50, 20],
  ])('%s', (_, spreadMs, total, msPerJob, limit) => {
    expect(batchRate({ spreadMs, total })).toEqual({ msPerJob, limit })
  })
})
