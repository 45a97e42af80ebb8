import { describe, expect, test } from 'vitest'
import { type QueueKind, type Reading, readCondition } from './conditions.ts'
import type { QueueFacts } from './facts.ts'

const NOW = new Date('2026-01-01T12:00:00Z')
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1_000)

const QUIET: QueueFacts = {
  ...{ waiting: 0, oldestWaiting: null, paused: null },
  ...{ ended: { failed: 0, ran: 0 }, isStill: true, workers: 1, wasBusy: false },
}

const paused = (seconds: number, by: string | null = 'anna') => ({
  paused: { at: ago(seconds), by, until: null },
})
const waits = (seconds: number) => ({ waiting: 3, oldestWaiting: ago(seconds) })
const ended = (failed: number, ran: number) => ({ ended: { failed, ran } })

function read(kind: QueueKind, threshold: number, facts: Partial<QueueFacts>, queue: string | null = 'mail') {
  const about = { ...QUIET, ...facts }
  const all = { now: NOW, whole: about, queues: new Map([['mail', about]]) }
  return readCondition({ kind, threshold }, queue, all)
}

type Row = readonly [what: string, threshold: number, facts: Partial<QueueFacts>, expected: Partial<Reading>]

const clear = { state: 'clear' } as const
const between = { state: 'between' } as const
const holds = (value: number, summary: string) => ({ state: 'holds', value, summary }) as const

const ROWS: Readonly<Record<QueueKind, readonly Row[]>> = {
  oldest_waiting: [
    ['nothing waits', 300, {}, clear],
    ['the oldest waits a while', 300, waits(269), clear],
    ['the oldest waits nearly too long', 300, waits(270), between],
    ['the oldest waits as long as it may', 300, waits(300), between],
    ['the oldest waits too long', 300, waits(720), holds(720, 'mail: oldest job waits 12 min (limit 5 min)')],
    ['the oldest waits too long in a paused queue', 300, { ...waits(720), ...paused(10) }, clear],
    ['nothing may wait, and nothing does', 0, {}, clear],
    ['nothing may wait, and something does', 0, waits(2), holds(2, 'mail: oldest job waits 2 s (limit 0 s)')],
  ],
  failure_rate: [
    ['nothing ran', 0.1, {}, clear],
    ['few fail', 0.1, ended(8, 100), clear],
    ['nearly too many fail', 0.1, ended(95, 1_000), between],
    ['too many fail', 0.1, ended(10, 100), holds(0.1, 'mail: 10% of 100 runs failed in 15 min (limit 10%)')],
    [
      'all of just enough runs fail',
      0.1,
      ended(20, 20),
      holds(1, 'mail: 100% of 20 runs failed in 15 min (limit 10%)'),
    ],
    ['all of too few runs fail', 0.1, ended(19, 19), between],
    ['none of too few runs fails', 0.1, ended(0, 19), clear],
  ],
  no_workers: [
    ['one is alive', 0, waits(60), clear],
    ['none is alive, and there is no work', 0, { workers: 0 }, clear],
    [
      'none is left, and jobs wait',
      0,
      { workers: 0, ...waits(60) },
      holds(0, 'mail: no workers are alive, 3 jobs wait'),
    ],
    [
      'none is left, and there was work today',
      0,
      { workers: 0, wasBusy: true },
      holds(0, 'mail: no workers are alive'),
    ],
    ['too few are left', 1, { wasBusy: true }, holds(1, 'mail: only 1 worker is alive (limit 1)')],
    ['enough are left', 1, { workers: 2, wasBusy: true }, clear],
  ],
  stalled: [
    ['nothing waits', 1, {}, clear],
    ['jobs wait, and some are done', 1, { ...waits(60), isStill: false }, clear],
    ['jobs wait in a paused queue', 1, { ...waits(60), ...paused(10) }, clear],
    ['jobs wait, and none is done', 1, waits(60), holds(3, 'mail: 3 jobs wait, none finished for 5 min')],
    [
      'one waits, and none is done',
      1,
      { waiting: 1 },
      holds(1, 'mail: 1 job waits, none finished for 5 min'),
    ],
    ['few wait, and none is done', 10, waits(60), clear],
    ['nearly too many wait, and none is done', 10, { waiting: 9 }, between],
  ],
  paused: [
    ['it runs', 3_600, {}, clear],
    ['it is paused for a moment', 3_600, paused(60), clear],
    ['it is paused for nearly too long', 3_600, paused(3_600), between],
    [
      'it is paused for too long',
      3_600,
      paused(7_200),
      holds(7_200, 'mail: paused by anna for 2 h (limit 1 h)'),
    ],
    [
      'it was paused by an unknown actor',
      60,
      paused(61, null),
      holds(61, 'mail: paused for 1 min (limit 1 min)'),
    ],
  ],
}

describe.each(Object.entries(ROWS) as [QueueKind, readonly Row[]][])('%s', (kind, rows) => {
  test.each(rows)('when %s', (_, threshold, facts, expected) => {
    expect(read(kind, threshold, facts)).toMatchObject(expected)
  })

  test('of an unknown queue is clear', () => {
    expect(read(kind, 0, { waiting: 1, workers: 0 }, 'unknown')).toMatchObject(clear)
  })
})

test('only no_workers applies to the whole installation', () => {
  const facts = { workers: 0, waiting: 1, wasBusy: true, ...paused(10_000) }
  expect(read('no_workers', 0, facts, null).summary).toBe('No workers are alive, 1 job waits')
  expect(read('no_workers', 2, { wasBusy: true }, null).summary).toBe('Only 1 worker is alive (limit 2)')
  for (const kind of ['oldest_waiting', 'failure_rate', 'stalled', 'paused'] as const)
    expect(read(kind, 0, facts, null)).toMatchObject(clear)
})
