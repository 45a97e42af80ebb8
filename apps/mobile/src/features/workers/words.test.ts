import { describe, expect, it } from 'vitest'
import type { Worker } from './queries.ts'
import { byTrouble, heldInWords, missingSince, summaryOf, versionsOf } from './words.ts'

const NOW = Date.UTC(2026, 10, 16, 3, 12)
const at = (secondsAgo: number) => new Date(NOW - secondsAgo * 1_000)

const workerOf = (host: string, differs: Partial<Worker> = {}): Worker => ({
  ...{ id: host, host, pid: 7, queues: ['mail'], concurrency: 10, version: '1.0.0', running: 3 },
  ...{ startedAt: at(900), lastBeat: at(1), missingSince: null, ended: null },
  ...differs,
})

describe('workers', () => {
  it('are missing when they are not seen, or were not heard of for half a minute', () => {
    expect(missingSince(workerOf('a'), NOW)).toBeNull()
    expect(missingSince(workerOf('a', { missingSince: at(4) }), NOW)).toEqual(at(4))
    expect(missingSince(workerOf('a', { lastBeat: at(29) }), NOW)).toBeNull()
    expect(missingSince(workerOf('a', { lastBeat: at(31) }), NOW)).toEqual(at(31))
  })

  it('say what became of what they held', () => {
    const held = (released: number, failed: number) =>
      heldInWords({ at: at(4), how: 'lost', released, failed }).replaceAll('\u00a0', ' ')
    expect(held(0, 0)).toBe('no jobs')
    expect(held(2, 1)).toBe('3 jobs: 2 put back, 1 ended')
    expect(held(1, 0)).toBe('1 job: 1 put back')
  })

  it('are sorted with missing ones first', () => {
    const workers = [workerOf('b'), workerOf('c', { missingSince: at(4) }), workerOf('a')]
    expect(byTrouble(workers, NOW).map(({ host }) => host)).toEqual(['c', 'a', 'b'])
  })

  it('are summed up by those that are alive', () => {
    const workers = [workerOf('a'), workerOf('b'), workerOf('c', { missingSince: at(4) })]
    expect(summaryOf(workers, NOW).replaceAll('\u00a0', ' ')).toBe(
      '2 alive, 1 missing · 6 of 20 slots in use',
    )
  })

  it('list their versions when there are several', () => {
    expect(versionsOf([workerOf('a'), workerOf('b', { version: '1.1.0' }), workerOf('c')])).toEqual([
      '1.0.0',
      '1.1.0',
    ])
  })
})
