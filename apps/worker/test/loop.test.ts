import { expect, it } from 'vitest'
import { Loop } from '../src/maintenance/loop.ts'
import { Gate, TestLog, until } from './harness.ts'

const HOUR = 3_600_000

function counting(waitMs: number, options: { gapMs?: number; fails?: () => boolean } = {}) {
  const log = new TestLog()
  const times: number[] = []
  const loop = new Loop({
    log,
    what: 'Counting',
    gapMs: options.gapMs,
    async work() {
      times.push(performance.now())
      if (options.fails?.()) throw new Error('no numbers')
      return waitMs
    },
  })
  return { loop, log, times }
}

it('a loop does its work again and again until it is stopped', async () => {
  const { loop, times } = counting(1)
  loop.start()
  loop.start()
  await until(() => times.length >= 5)
  await Promise.all([loop.stop(), loop.stop()])
  const { length } = times
  loop.wake()
  await new Promise(setImmediate)
  expect(times).toHaveLength(length)
})

it('a loop that was stopped can be started again', async () => {
  const { loop, times } = counting(HOUR)
  loop.start()
  await until(() => times.length === 1)
  void loop.stop()
  loop.start()
  await until(() => times.length === 2)
  await loop.stop()
})

it('a loop that waits can be woken, but not more often than its gap allows', async () => {
  const { loop, times } = counting(HOUR, { gapMs: 50 })
  loop.start()
  await until(() => times.length === 1)
  for (let wakes = 0; wakes < 100; wakes++) loop.wake()
  await until(() => times.length === 2)
  const [first = 0, second = 0] = times
  expect(second - first).toBeGreaterThan(45)
  await loop.stop()
})

it('a loop that is woken while it works looks once more', async () => {
  const gate = new Gate()
  let works = 0
  const loop = new Loop({
    log: new TestLog(),
    what: 'Waiting',
    async work() {
      works += 1
      await gate.opened
      return HOUR
    },
  })
  loop.start()
  await until(() => works === 1)
  loop.wake()
  gate.open()
  await until(() => works === 2)
  await loop.stop()
})

it('stop waits for the work that is under way', async () => {
  const gate = new Gate()
  let isDone = false
  const loop = new Loop({
    log: new TestLog(),
    what: 'Waiting',
    async work() {
      await gate.opened
      isDone = true
      return HOUR
    },
  })
  loop.start()
  const stopped = loop.stop()
  gate.open()
  await stopped
  // Stopped before it began, or after it was done; never in between.
  expect(isDone).toBe(false)
  loop.start()
  await until(() => isDone)
  await loop.stop()
})

it('an error is told once, and so is that it works again', async () => {
  let failures = 0
  const { loop, log, times } = counting(1, {
    fails: () => {
      failures += 1
      return failures <= 3
    },
  })
  loop.start()
  await until(() => times.length >= 6)
  await loop.stop()
  expect(log.of('error')).toEqual(['Counting failed; trying again until it works'])
  expect(log.of('info')).toEqual(['Counting works again'])
})
