import { OncueError } from '@oncue/core'
import type { JobGlance } from '@oncue/db'
import { simulate } from '@oncue/runtime'
import { describe, expect, it, vi } from 'vitest'
import { StateHub } from './states.ts'

const A = '01900000-0000-7000-8000-00000000000a'
const B = '01900000-0000-7000-8000-00000000000b'

const TIME = new Date(0)
const pending: JobGlance = {
  status: 'pending',
  run: 0,
  progress: null,
  topic: 'mail',
  runAt: TIME,
  created: TIME,
  updated: TIME,
}

describe('the hub of states', () => {
  function aHub(glance = async (ids: readonly string[]) => new Map(ids.map((id) => [id, pending]))) {
    const asked: string[][] = []
    const runtime = simulate()
    const hub = new StateHub(
      (ids) => {
        asked.push([...ids])
        return glance(ids)
      },
      { runtime },
    )
    const watch = (id: string, options = {}) => {
      const onlooker = { see: vi.fn(), fail: vi.fn() }
      return { ...onlooker, leave: hub.watch(id, onlooker, options) }
    }
    return { runtime, asked, watch }
  }

  it('reads once for onlookers who arrive together, and then twice a second for all', async () => {
    const { runtime, asked, watch } = aHub()
    const onlookers = [watch(A), watch(A), watch(B)]
    await runtime.advance(100)
    expect(asked).toEqual([[A, B]])
    for (const { see } of onlookers) expect(see).toHaveBeenCalledExactlyOnceWith(pending)
    await runtime.advance(1_900)
    expect(asked).toHaveLength(1 + 4)
  })

  it('reads the state for newcomers soon, without reading the others', async () => {
    const { runtime, asked, watch } = aHub()
    watch(A)
    await runtime.advance(100)
    const late = watch(B)
    await runtime.advance(30)
    expect(asked).toEqual([[A], [B]])
    expect(late.see).toHaveBeenCalledOnce()
  })

  it('reads hurried newcomers together ten times a second, and after two seconds like all others', async () => {
    const { runtime, asked, watch } = aHub()
    const C = '01900000-0000-7000-8000-00000000000c'
    watch(A)
    await runtime.advance(3_000)
    const others = asked.length
    watch(B, { isInHurry: true })
    watch(C, { isInHurry: true })
    await runtime.advance(1_000)
    const hurried = asked.slice(others).filter((ids) => !ids.includes(A))
    expect(hurried.length).toBeGreaterThanOrEqual(9)
    expect(hurried.length).toBeLessThanOrEqual(10)
    expect(hurried.every((ids) => ids.join() === [B, C].join())).toBe(true)
    await runtime.advance(2_000)
    asked.length = 0
    await runtime.advance(5_000)
    expect(asked).toEqual(Array.from({ length: 10 }, () => [A, B, C]))
  })

  it('reads no more often, however many newcomers arrive', async () => {
    const { runtime, asked, watch } = aHub()
    for (let n = 0; n < 100; n++) {
      watch(A, { isInHurry: true }).leave()
      watch(B)
      await runtime.advance(10)
    }
    expect(asked.length).toBeLessThanOrEqual(10 + 2)
  })

  it('shows null when there is no such job', async () => {
    const { runtime, watch } = aHub(async () => new Map())
    const { see } = watch(A)
    await runtime.advance(30)
    expect(see).toHaveBeenCalledWith(null)
  })

  it('reads nothing once every onlooker has left', async () => {
    const { runtime, asked, watch } = aHub()
    const { leave } = watch(A)
    await runtime.advance(30)
    leave()
    await runtime.advance(5_000)
    expect(asked).toHaveLength(1)
    expect(runtime.timers).toBe(0)
  })

  it('keeps reading while the database is away, and fails on a permanent error', async () => {
    const errors = [
      new OncueError('DATABASE_UNAVAILABLE', 'away'),
      new OncueError('DATABASE_UNAVAILABLE', 'away'),
      new OncueError('DATABASE_ERROR', 'broken'),
    ]
    const { runtime, watch } = aHub(async () => {
      throw errors.shift()
    })
    const { see, fail } = watch(A)
    await runtime.advance(600)
    expect(fail).not.toHaveBeenCalled()
    await runtime.advance(500)
    expect(fail).toHaveBeenCalledWith(expect.objectContaining({ code: 'DATABASE_ERROR' }))
    expect(see).not.toHaveBeenCalled()
  })
})
