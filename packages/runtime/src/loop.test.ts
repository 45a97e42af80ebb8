import { describe, expect, test } from 'vitest'
import { Loop, type LoopOptions } from './loop.ts'
import { simulate } from './simulation.ts'

function open(options: Partial<LoopOptions> = {}) {
  const runtime = simulate()
  const ran: number[] = []
  const loop = new Loop({
    what: 'looking',
    runtime,
    ...options,
    async work(signal) {
      ran.push(runtime.monotonic())
      return options.work ? options.work(signal) : 100
    },
  })
  return { runtime, ran, loop }
}

describe('Loop', () => {
  test('runs at once, and again after the time that its work returned', async () => {
    const { runtime, ran, loop } = open()
    loop.start()
    await runtime.advance(250)
    expect(ran).toEqual([0, 100, 200])
    await loop.stop()
  })

  test('starts and stops once, however often it is called, and can be started again', async () => {
    const { runtime, ran, loop } = open()
    await loop.stop()
    loop.start()
    loop.start()
    await runtime.advance(50)
    await Promise.all([loop.stop(), loop.stop()])
    await runtime.advance(1_000)
    expect(ran).toEqual([0])
    expect(runtime.timers).toBe(0)
    loop.start()
    await runtime.advance(150)
    expect(ran).toEqual([0, 1_050, 1_150])
    await loop.stop()
  })

  test('does not begin when it is stopped first, and a wake-up does not start it', async () => {
    const { runtime, ran, loop } = open()
    loop.start()
    const stopped = loop.stop()
    loop.wake()
    await stopped
    await runtime.advance(1_000)
    expect(ran).toEqual([])
    loop.start()
    void loop.stop()
    loop.start()
    await runtime.advance(0)
    expect(ran).toEqual([1_000])
    await loop.stop()
  })

  test('waits before its first run, unless it is woken', async () => {
    const { runtime, ran, loop } = open({ firstMs: 30 })
    loop.start()
    await runtime.advance(40)
    expect(ran).toEqual([30])
    await loop.stop()
    loop.start()
    await runtime.advance(29)
    expect(ran).toEqual([30])
    await runtime.advance(1)
    expect(ran).toEqual([30, 70])
    await loop.stop()
    loop.start()
    loop.wake()
    await runtime.advance(0)
    expect(ran).toEqual([30, 70, 70])
    await loop.stop()
    loop.start()
    await loop.stop()
    expect(runtime.timers).toBe(0)
  })

  test('waits before its first run also when it was stopped while it ran', async () => {
    let end = () => {}
    const { runtime, ran, loop } = open({
      firstMs: 30,
      work: () => new Promise((resolve) => (end = () => resolve(100))),
    })
    loop.start()
    await runtime.advance(30)
    void loop.stop()
    loop.start()
    end()
    await runtime.advance(29)
    expect(ran).toEqual([30])
    await runtime.advance(1)
    expect(ran).toEqual([30, 60])
    end()
    await loop.stop()
  })

  test('runs when it is woken, but not before its gap has passed', async () => {
    const { runtime, ran, loop } = open({ gapMs: 20 })
    loop.start()
    await runtime.advance(5)
    loop.wake()
    loop.wake()
    await runtime.advance(40)
    expect(ran).toEqual([0, 20])
    loop.wake()
    await runtime.advance(0)
    expect(ran).toEqual([0, 20, 45])
    await loop.stop()
  })

  test('does not wait for its gap when it is due earlier', async () => {
    const { runtime, ran, loop } = open({ gapMs: 1_000 })
    loop.start()
    await runtime.advance(90)
    loop.wake()
    await runtime.advance(10)
    expect(ran).toEqual([0, 100])
    await loop.stop()
  })

  test('runs once more when it is woken while it runs', async () => {
    const steps: (() => void)[] = []
    const { runtime, ran, loop } = open({
      work: () => new Promise((resolve) => steps.push(() => resolve(Number.POSITIVE_INFINITY))),
    })
    loop.start()
    await runtime.advance(0)
    loop.wake()
    steps[0]?.()
    await runtime.advance(0)
    expect(ran).toHaveLength(2)
    steps[1]?.()
    await runtime.advance(10_000)
    expect(ran).toHaveLength(2)
    expect(runtime.timers).toBe(0)
    await loop.stop()
  })

  test('continues after a failure, with a back-off, and logs the outage once', async () => {
    const lines: string[] = []
    const write = (_: object, message: string) => void lines.push(message)
    let failures = 3
    const { runtime, ran, loop } = open({
      log: { info: write, error: write },
      backoff: { firstMs: 10, maxMs: 1_000, jitter: 0 },
      work() {
        if (failures-- > 0) throw new Error('away')
        return 1_000
      },
    })
    loop.start()
    await runtime.advance(500)
    expect(ran).toEqual([0, 10, 30, 70])
    expect(lines).toEqual(['looking failed; retrying until it succeeds', 'looking works again'])
    await loop.stop()
  })

  test('when it is stopped, waits for the run in progress and aborts its signal', async () => {
    const log: string[] = []
    const { runtime, loop } = open({
      log: { info() {}, error: (_, message) => void log.push(message) },
      async work(signal) {
        await runtime.sleep(60_000, { signal })
        log.push(signal.aborted ? 'aborted' : 'not aborted')
        throw new Error('because it is stopped')
      },
    })
    loop.start()
    await runtime.advance(0)
    await loop.stop()
    expect(log).toEqual(['aborted'])
  })
})
