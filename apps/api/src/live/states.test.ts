import { OncueError } from '@oncue/core'
import type { JobGlance } from '@oncue/db'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
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
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  function aHub(glance = async (ids: readonly string[]) => new Map(ids.map((id) => [id, pending]))) {
    const asked: string[][] = []
    const hub = new StateHub((ids) => {
      asked.push([...ids])
      return glance(ids)
    })
    const watch = (id: string, options = {}) => {
      const onlooker = { see: vi.fn(), fail: vi.fn() }
      return { ...onlooker, leave: hub.watch(id, onlooker, options) }
    }
    return { hub, asked, watch }
  }

  it('asks once for all who come together, and then for all twice a second', async () => {
    const { asked, watch } = aHub()
    const onlookers = [watch(A), watch(A), watch(B)]
    await vi.advanceTimersByTimeAsync(100)
    expect(asked).toEqual([[A, B]])
    for (const { see } of onlookers) expect(see).toHaveBeenCalledExactlyOnceWith(pending)
    await vi.advanceTimersByTimeAsync(1_900)
    expect(asked).toHaveLength(1 + 4)
  })

  it('gives newcomers their first look soon, without asking for the others', async () => {
    const { asked, watch } = aHub()
    watch(A)
    await vi.advanceTimersByTimeAsync(100)
    const late = watch(B)
    await vi.advanceTimersByTimeAsync(30)
    expect(asked).toEqual([[A], [B]])
    expect(late.see).toHaveBeenCalledOnce()
  })

  it('looks ten times a second at those in a hurry, all at once, and after two seconds no more than at others', async () => {
    const { asked, watch } = aHub()
    const C = '01900000-0000-7000-8000-00000000000c'
    watch(A)
    await vi.advanceTimersByTimeAsync(3_000)
    const others = asked.length
    watch(B, { isInHurry: true })
    watch(C, { isInHurry: true })
    await vi.advanceTimersByTimeAsync(1_000)
    const hurried = asked.slice(others).filter((ids) => !ids.includes(A))
    expect(hurried.length).toBeGreaterThanOrEqual(9)
    expect(hurried.length).toBeLessThanOrEqual(10)
    expect(hurried.every((ids) => ids.join() === [B, C].join())).toBe(true)
    await vi.advanceTimersByTimeAsync(2_000)
    asked.length = 0
    await vi.advanceTimersByTimeAsync(5_000)
    expect(asked).toEqual(Array.from({ length: 10 }, () => [A, B, C]))
  })

  it('looks no more often however many newcomers keep coming', async () => {
    const { asked, watch } = aHub()
    for (let n = 0; n < 100; n++) {
      watch(A, { isInHurry: true }).leave()
      watch(B)
      await vi.advanceTimersByTimeAsync(10)
    }
    expect(asked.length).toBeLessThanOrEqual(10 + 2)
  })

  it('says so when there is no such job', async () => {
    const { watch } = aHub(async () => new Map())
    const { see } = watch(A)
    await vi.advanceTimersByTimeAsync(30)
    expect(see).toHaveBeenCalledWith(null)
  })

  it('asks nothing once everybody has left', async () => {
    const { asked, watch } = aHub()
    const { leave } = watch(A)
    await vi.advanceTimersByTimeAsync(30)
    leave()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(asked).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('keeps asking while the database is away, and gives up on what will not pass', async () => {
    const errors = [
      new OncueError('DATABASE_UNAVAILABLE', 'away'),
      new OncueError('DATABASE_UNAVAILABLE', 'away'),
      new OncueError('DATABASE_ERROR', 'broken'),
    ]
    const { watch } = aHub(async () => {
      throw errors.shift()
    })
    const { see, fail } = watch(A)
    await vi.advanceTimersByTimeAsync(600)
    expect(fail).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(500)
    expect(fail).toHaveBeenCalledWith(expect.objectContaining({ code: 'DATABASE_ERROR' }))
    expect(see).not.toHaveBeenCalled()
  })
})
