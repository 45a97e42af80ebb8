import { describe, expect, test } from 'vitest'
import { simulate } from './simulation.ts'
import { timeoutSignal, withTimeout } from './timeout.ts'

describe('withTimeout', () => {
  test('returns the result of work that ends in time, and leaves no timer', async () => {
    const runtime = simulate()
    expect(await withTimeout(Promise.resolve('done'), 100, () => 'late', runtime)).toBe('done')
    await expect(withTimeout(Promise.reject(new Error('no')), 100, () => 1, runtime)).rejects.toThrow('no')
    expect(runtime.timers).toBe(0)
  })

  test('does not wait for work that takes too long', async () => {
    const runtime = simulate()
    const result = withTimeout(new Promise<string>(() => {}), 100, () => 'late', runtime)
    await runtime.advance(100)
    expect(await result).toBe('late')
  })

  test('can abort the work and wait for its end', async () => {
    const runtime = simulate()
    let end = (_: string) => {}
    const work = new Promise<string>((resolve) => {
      end = resolve
    })
    const breakOff = () => {
      end('broken off')
      return work
    }
    const result = withTimeout(work, 100, breakOff, runtime)
    await runtime.advance(100)
    expect(await result).toBe('broken off')
  })
})

test('a signal of a timeout is aborted with a TimeoutError', async () => {
  const runtime = simulate()
  const signal = timeoutSignal(1_000, runtime)
  await runtime.advance(999)
  expect(signal.aborted).toBe(false)
  await runtime.advance(1)
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
})
