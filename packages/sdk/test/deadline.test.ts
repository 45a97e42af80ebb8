import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sleep, withDeadline } from '../src/deadline.ts'

const DAY_MS = 24 * 60 * 60_000
const forever = () => new Promise<never>(() => {})

describe('a deadline', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('may be farther away than the longest timer', async () => {
    const outcome = vi.fn()
    withDeadline(forever, { ms: 60 * DAY_MS, late: () => new Error('late') }).catch(outcome)
    await vi.advanceTimersByTimeAsync(60 * DAY_MS - 1)
    expect(outcome).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(outcome).toHaveBeenCalledExactlyOnceWith(new Error('late'))
    expect(vi.getTimerCount()).toBe(0)
  })

  it('sets no more timers once the work is done, also after the first of them', async () => {
    const work = withDeadline(() => sleep(60 * DAY_MS, undefined), { ms: Number.POSITIVE_INFINITY })
    await vi.advanceTimersByTimeAsync(60 * DAY_MS)
    await work
    await vi.advanceTimersByTimeAsync(0)
    expect(vi.getTimerCount()).toBe(0)
  })
})
