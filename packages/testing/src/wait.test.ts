import { describe, expect, test } from 'vitest'
import { eventually, observeFor, until } from './wait.ts'

describe('until', () => {
  test('returns as soon as the condition is truthy', async () => {
    let looks = 0
    await until(() => ++looks === 3)
    expect(looks).toBe(3)
  })

  test('retries after an error, and awaits promises', async () => {
    let looks = 0
    await until(async () => {
      looks += 1
      if (looks === 1) throw new Error('not yet')
      return looks === 3
    })
    expect(looks).toBe(3)
  })

  test('says which condition was not met', async () => {
    await expect(until(() => 1 > 2, 20)).rejects.toThrow('Not so within 20 ms: () => 1 > 2')
  })
})

describe('eventually', () => {
  test('returns what the assertions return', async () => {
    let looks = 0
    const seen = await eventually(async () => {
      looks += 1
      expect(looks).toBe(2)
      return 'seen'
    })
    expect(seen).toBe('seen')
  })

  test('throws the last failure', async () => {
    await expect(eventually(() => expect(1).toBe(2), 20)).rejects.toThrow('expected 1 to be 2')
  })
})

describe('observeFor', () => {
  test('asserts again and again until the time is over', async () => {
    const began = performance.now()
    let looks = 0
    await observeFor(50, () => {
      looks += 1
    })
    expect(performance.now() - began).toBeGreaterThanOrEqual(50)
    expect(looks).toBeGreaterThan(2)
  })

  test('fails at the first moment at which the assertions do', async () => {
    let looks = 0
    const observing = observeFor(60_000, async () => expect(++looks).toBeLessThan(3))
    await expect(observing).rejects.toThrow('expected 3 to be less than 3')
  })
})
