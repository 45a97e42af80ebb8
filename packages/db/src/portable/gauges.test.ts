import { expect, test } from 'vitest'
import { type GaugeSample, timeToDrain } from './gauges.ts'

const NOW = new Date('2026-01-01T12:00:00Z')
const MINUTE = 60_000

/** A sample with that many jobs waiting in mail. */
function sample(minutesAgo: number, waiting: number): GaugeSample {
  const gauge = { waiting, running: 2, oldestMs: 0, workers: 1, slots: 2 }
  const minute = new Date(NOW.getTime() - minutesAgo * MINUTE)
  return { minute, whole: gauge, queues: new Map(waiting > 0 ? [['mail', gauge]] : []) }
}

const CASES: [what: string, waiting: number, samples: GaugeSample[], minutes: number | null][] = [
  ['shrinks by 10 a minute', 70, [sample(5, 120), sample(1, 80)], 7],
  ['shrinks since a minute ago, the only sample', 70, [sample(1, 80)], 7],
  ['shrank only before the last 5 min', 70, [sample(7, 500), sample(5, 70)], null],
  ['grows', 70, [sample(5, 60)], null],
  ['was empty and has a burst', 70, [sample(5, 0)], null],
  ['has nothing waiting', 0, [sample(5, 60)], null],
  ['was never sampled', 70, [], null],
  ['was sampled just now', 70, [sample(0, 80)], null],
]

test.each(CASES)('the time to drain of a queue that %s', (_, waiting, samples, minutes) => {
  const drainMs = timeToDrain({ queue: 'mail', waiting }, samples, NOW)
  expect(drainMs).toBe(minutes === null ? null : minutes * MINUTE)
})
