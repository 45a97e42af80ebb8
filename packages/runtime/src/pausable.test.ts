import { describe, expect, it } from 'vitest'
import { Loop } from './loop.ts'
import { pausable } from './pausable.ts'
import { simulate } from './simulation.ts'

describe('a pausable runtime', () => {
  it('holds timers back while it is paused, and does each of them once when it resumes', async () => {
    const clock = simulate()
    const runtime = pausable(clock)
    const done: string[] = []
    runtime.after(10, () => done.push('after'))
    runtime.every(10, () => done.push('every'))
    runtime.after(100, () => done.push('late'))
    runtime.pause()
    await clock.advance(50)
    expect(done).toEqual([])
    runtime.resume()
    expect(done).toEqual(['after', 'every'])
    await clock.advance(50)
    expect(done.slice(2).sort()).toEqual(['every', 'every', 'every', 'every', 'every', 'late'])
  })

  it('leaves its base alone, and its own clock goes on', async () => {
    const clock = simulate()
    const runtime = pausable(clock)
    const done: string[] = []
    runtime.pause()
    clock.after(10, () => done.push('base'))
    await clock.advance(10)
    expect(done).toEqual(['base'])
    expect(runtime.monotonic()).toBe(10)
  })

  it('forgets what was cancelled while it was held back', async () => {
    const clock = simulate()
    const runtime = pausable(clock)
    let count = 0
    const timer = runtime.after(10, () => {
      count += 1
    })
    runtime.pause()
    await clock.advance(20)
    runtime.cancel(timer)
    runtime.resume()
    expect(count).toBe(0)
    expect(clock.timers).toBe(0)
  })

  it('lets a loop stop while it is paused', async () => {
    const clock = simulate()
    const runtime = pausable(clock)
    let runs = 0
    const loop = new Loop({
      what: 'counting',
      runtime,
      work() {
        runs += 1
        return 10
      },
    })
    loop.start()
    await clock.advance(5)
    runtime.pause()
    await clock.advance(1_000)
    expect(runs).toBe(1)
    await loop.stop()
    runtime.resume()
    await clock.advance(1_000)
    expect(runs).toBe(1)
  })
})
