import { describe, expect, it } from 'vitest'
import { type Situation, summarize } from './summary.ts'

type Queue = Situation['queues'][number]

const NOW = new Date('2026-01-01T12:00:00Z')
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)

const a = (queue: string, state: Queue['state'], more: Partial<Queue> = {}): Queue => ({
  ...{ queue, state, waiting: 0, oldestWaiting: null, capacity: 10, failureRate: null, paused: null },
  ...more,
})
const late = (queue: string, minutes: number, waiting = 3) =>
  a(queue, 'late', { waiting, oldestWaiting: ago(minutes) })
const stalled = (queue: string, waiting: number, capacity = 10) =>
  a(queue, 'stalled', { waiting, capacity, oldestWaiting: ago(30) })
const failing = (queue: string, failureRate: number) => a(queue, 'failing', { failureRate })
const paused = (queue: string, minutes: number, by: string | null) =>
  a(queue, 'paused', { paused: { at: ago(minutes), by, until: null } })

const CASES: [text: string, level: string, queues: Queue[], workersAlive?: number][] = [
  ['All good', 'good', []],
  ['All good', 'good', [a('mail', 'ok', { waiting: 9 }), a('media', 'idle')]],

  ['No workers are alive', 'warn', [a('mail', 'idle')], 0],
  ['No workers are alive, 1 job waits', 'bad', [stalled('mail', 1, 0)], 0],
  ['No workers are alive, 1,312 jobs wait', 'bad', [stalled('mail', 312, 0), stalled('media', 1_000, 0)], 0],
  ['No workers are alive, 312 jobs wait', 'bad', [stalled('mail', 312, 0), failing('sync', 0.5)], 0],

  ['mail is stalled: 312 jobs wait, none finished', 'bad', [stalled('mail', 312)]],
  ['mail is stalled: 1 job waits, none finished', 'bad', [stalled('mail', 1)]],
  ['2 queues are stalled: 7 jobs wait, none finished', 'bad', [stalled('mail', 3), stalled('media', 4)]],
  ['mail has no worker, 3 jobs wait', 'bad', [stalled('mail', 3, 0)]],
  ['2 queues have no worker, 7 jobs wait', 'bad', [stalled('mail', 3, 0), stalled('media', 4, 0)]],
  ['2 queues are stalled: 7 jobs wait, none finished', 'bad', [stalled('mail', 3), stalled('media', 4, 0)]],

  ['mail is late: oldest waits 12 min', 'bad', [late('mail', 12)]],
  ['2 queues are late: oldest waits 3 h', 'bad', [late('mail', 12), late('media', 185)]],
  ['mail is failing: 14% of runs', 'bad', [failing('mail', 0.1379)]],
  ['2 queues are failing: up to 40% of runs', 'bad', [failing('mail', 0.14), failing('media', 0.4)]],
  ['media is paused by anna, 2 h', 'warn', [paused('media', 125, 'anna')]],
  ['media is paused, 3 d', 'warn', [paused('media', 3 * 24 * 60, null)]],
  ['2 queues are paused', 'warn', [paused('mail', 1, 'anna'), paused('media', 125, null)]],

  ['2 queues late, mail failing 14%', 'bad', [late('a', 6), late('b', 9), failing('mail', 0.14)]],
  ['mail stalled, media late', 'bad', [late('media', 12), stalled('mail', 3)]],
  ['mail without a worker, media late', 'bad', [stalled('mail', 3, 0), late('media', 12)]],
  ['mail late, 2 queues failing (worst 40%)', 'bad', [late('mail', 6), failing('a', 0.4), failing('b', 0.2)]],
  ['mail failing 14%, media paused', 'bad', [paused('media', 5, 'anna'), failing('mail', 0.14)]],
  [
    'mail stalled, media late',
    'bad',
    [stalled('mail', 3), late('media', 6), failing('sync', 0.2), paused('docs', 5, null)],
  ],
]

describe('the summary', () => {
  it.each(CASES)('%s', (text, level, queues, workersAlive = 3) => {
    expect(summarize({ now: NOW, workersAlive, queues, delivery: { paused: null, limit: null } })).toEqual({
      level,
      text,
    })
  })
})
