import { describe, expect, test } from 'vitest'
import { simulate } from './simulation.ts'

describe('simulate', () => {
  test('runs timers in the order of their times, then of their creation, each at its own time', async () => {
    const runtime = simulate({ now: 1_000 })
    const ran: [string, number][] = []
    const note = (name: string) => () => void ran.push([name, runtime.now()])
    runtime.after(20, note('second'))
    runtime.after(10, note('first'))
    runtime.after(20, note('third'))
    runtime.after(31, note('too late'))
    await runtime.advance(30)
    expect(ran).toEqual([
      ['first', 1_010],
      ['second', 1_020],
      ['third', 1_020],
    ])
    expect(runtime.now()).toBe(1_030)
    expect(runtime.monotonic()).toBe(30)
    expect(runtime.timers).toBe(1)
  })

  test('lets code that a timer resolved set the next one within the same advance', async () => {
    const runtime = simulate()
    const at: number[] = []
    const walk = async () => {
      for (;;) {
        await runtime.sleep(10)
        await runtime.sleep(0)
        at.push(runtime.monotonic())
      }
    }
    void walk()
    await runtime.advance(35)
    expect(at).toEqual([10, 20, 30])
  })

  test('repeats until it is cancelled', async () => {
    const runtime = simulate()
    let count = 0
    const timer = runtime.every(10, () => {
      if (++count === 3) runtime.cancel(timer)
    })
    await runtime.advance(100)
    expect(count).toBe(3)
    expect(runtime.timers).toBe(0)
  })

  test('draws the same numbers from the same start, and others from another', () => {
    const lots = (seed: number) => {
      const runtime = simulate({ seed })
      return [runtime.random(), runtime.uuid(), ...runtime.bytes(8)]
    }
    expect(lots(7)).toEqual(lots(7))
    expect(lots(7)).not.toEqual(lots(8))
  })

  test('has no threads', () => {
    expect(() => simulate().thread(new URL('file:///x'), { name: 'x', data: null })).toThrow(/no threads/)
  })
})
