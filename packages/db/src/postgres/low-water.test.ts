import { describe, expect, it } from 'vitest'
import { claiming } from '../../test/conformance/harness.ts'
import type { ClaimedJob } from '../store.ts'
import { LowWater } from './low-water.ts'

const NOW = new Date('2026-01-01T00:00:00.000Z')
const ago = (ms: number) => new Date(NOW.getTime() - ms)
const found = (visibleAt: Date) =>
  ({ id: '01900000-0000-7000-8000-00000000000a', queue: 'default', priority: 0, visibleAt }) as ClaimedJob & {
    visibleAt: Date
  }

describe('the low-water mark', () => {
  /** A sweep that took 100 ms, so that the next is due after a second, and what it has seen. */
  function seen() {
    const water = new LowWater()
    water.marks(claiming(), 0)
    water.learn(claiming(), [found(ago(5))], NOW, 100)
    return water
  }

  it('stays behind jobs that may still be uncommitted', () => {
    expect(seen().marks(claiming(), 200).times).toEqual([ago(250)])
  })

  it('goes back to the beginning when a sweep is due', () => {
    const water = seen()
    expect(water.marks(claiming(), 999).times).toEqual([ago(250)])
    expect(water.marks(claiming(), 1_000).times).toEqual(['-infinity'])
    expect(water.marks(claiming(), 1_001).times).toEqual([ago(250)])
  })

  describe('of a queue that a claim has not read to its end', () => {
    const marksAfter = (jobs: Parameters<LowWater['learn']>[1], unseen: Parameters<LowWater['learn']>[4]) => {
      const water = seen()
      const later = new Date(NOW.getTime() + 1_000)
      water.marks(claiming(), 200)
      water.learn(claiming(), jobs, later, 200, unseen)
      return water.marks(claiming(), 201).times
    }

    it('moves as far as the last job that was taken before the limit', () => {
      const stopped = { stopped: ['default'], skipped: [] }
      expect(marksAfter([found(ago(20)), found(ago(10))], stopped)).toEqual([ago(10)])
    })

    it('does not move when the queue was full, or paused', () => {
      expect(marksAfter([], { stopped: ['default'], skipped: [] })).toEqual([ago(250)])
    })

    it('does not move when something was left behind', () => {
      expect(marksAfter([found(ago(10))], { stopped: [], skipped: ['default'] })).toEqual([ago(250)])
    })

    it('does not affect the other queues', () => {
      const after = [new Date(NOW.getTime() + 750)]
      expect(marksAfter([], { stopped: ['other'], skipped: ['another'] })).toEqual(after)
    })
  })

  it('is not used by a claim that has to be thorough', () => {
    const water = seen()
    expect(water.marks(claiming({ thorough: true }), 200).times).toEqual(['-infinity'])
    expect(water.marks(claiming(), 201).times).toEqual([ago(250)])
  })
})
