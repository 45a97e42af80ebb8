import { describe, expect, it } from 'vitest'
import type { Worker } from './queries.ts'
import { byTrouble, missingSince, summaryOf, versionsOf } from './words.ts'

const NOW = Date.UTC(2026, 10, 16, 3, 12)
const at = (secondsAgo: number) => new Date(NOW - secondsAgo * 1_000)

const workerOf = (host: string, differs: Partial<Worker> = {}): Worker => ({
  ...{ id: host, host, pid: 7, queues: ['mail'], concurrency: 10, version: '1.0.0', running: 3 },
  ...{ startedAt: at(900), lastBeat: at(1), missingSince: null },
  ...differs,
})

describe('workers', () => {
  it('are missing when the server says so, or without a heartbeat for a minute', () => {
    expect(missingSince(workerOf('a'), NOW)).toBeNull()
    expect(missingSince(workerOf('a', { missingSince: at(4) }), NOW)).toEqual(at(4))
    expect(missingSince(workerOf('a', { lastBeat: at(61) }), NOW)).toEqual(at(61))
  })

  it('are sorted with missing ones first', () => {
    const workers = [workerOf('b'), workerOf('c', { missingSince: at(4) }), workerOf('a')]
    expect(byTrouble(workers, NOW).map(({ host }) => host)).toEqual(['c', 'a', 'b'])
  })

  it('are summed up by those that are alive', () => {
    const workers = [workerOf('a'), workerOf('b'), workerOf('c', { missingSince: at(4) })]
    expect(summaryOf(workers, NOW).replaceAll('\u202f', ' ')).toBe(
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
