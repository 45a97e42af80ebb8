import { describe, expect, test } from 'vitest'
import { Leader, Term } from './leader.ts'
import { silentLogger } from './logger.ts'
import { type Simulation, simulate } from './simulation.ts'

/** Keeps terms like a store, in memory. */
function createTerms(runtime: Simulation) {
  let leader: { by: string; until: number } | undefined
  return {
    isAway: false,
    async lead(_: string, by: string, termMs: number) {
      if (this.isAway) throw new Error('away')
      if (leader && leader.by !== by && leader.until > runtime.monotonic()) return false
      leader = { by, until: runtime.monotonic() + termMs }
      return true
    },
    async stepDown(_: string, by: string) {
      if (leader?.by === by) leader = undefined
    },
  }
}

function open() {
  const runtime = simulate()
  const store = createTerms(runtime)
  const leading = new Set<string>()
  const join = (by: string) =>
    new Leader({
      ...{ store, runtime, by, what: 'maintenance', termMs: 3_000, tryMs: 1_000, log: silentLogger },
      duties: [{ start: () => void leading.add(by), stop: async () => void leading.delete(by) }],
    })
  return { runtime, store, leading, join }
}

describe('Leader', () => {
  test('leads alone, and is replaced when it stops', async () => {
    const { runtime, leading, join } = open()
    const [one, other] = [join('one'), join('other')]
    one.start()
    await runtime.advance(10)
    other.start()
    await runtime.advance(10_000)
    expect([...leading]).toEqual(['one'])
    await one.stop()
    expect([...leading]).toEqual([])
    await runtime.advance(1_100)
    expect([...leading]).toEqual(['other'])
    await Promise.all([one.stop(), other.stop(), other.stop()])
    expect(runtime.timers).toBe(0)
  })

  test('stops its duties by its own clock when it cannot renew its term', async () => {
    const { runtime, store, leading, join } = open()
    const one = join('one')
    one.start()
    await runtime.advance(10)
    store.isAway = true
    await runtime.advance(2_500)
    expect([...leading]).toEqual(['one'])
    await runtime.advance(6_000)
    expect([...leading]).toEqual([])
    store.isAway = false
    await runtime.advance(6_000)
    expect([...leading]).toEqual(['one'])
    await one.stop()
  })
})

test('a term is taken and renewed by one process, and passes to another when it ends', async () => {
  const runtime = simulate()
  const store = createTerms(runtime)
  const termOf = (by: string) => new Term({ store, what: 'alerts', by, termMs: 3_000 })
  const [one, other] = [termOf('one'), termOf('other')]
  expect([await one.take(), await other.take()]).toEqual([true, false])
  await runtime.advance(2_000)
  expect(await one.take()).toBe(true)
  await runtime.advance(2_000)
  expect(await other.take()).toBe(false)
  await one.end()
  expect([await other.take(), await one.take()]).toEqual([true, false])
  await new Term({
    what: 'alerts',
    by: 'one',
    termMs: 3_000,
    store: { ...store, stepDown: () => Promise.reject(new Error('away')) },
  }).end()
})
