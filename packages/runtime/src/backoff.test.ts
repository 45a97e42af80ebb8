import { describe, expect, test } from 'vitest'
import { backoff, Outage } from './backoff.ts'
import { simulate } from './simulation.ts'

const LISTENER = { firstMs: 25, maxMs: 1_000 }
const fixed = (value: number) => ({ random: () => value })

describe('backoff', () => {
  test('doubles up to its limit', () => {
    const waits = Array.from({ length: 8 }, (_, n) => backoff(n, LISTENER, fixed(0)))
    expect(waits).toEqual([25, 50, 100, 200, 400, 800, 1_000, 1_000])
  })

  test('is random in its second half', () => {
    expect(backoff(0, LISTENER, fixed(1))).toBe(12.5)
    expect(backoff(9, LISTENER, fixed(1))).toBe(500)
  })

  test('takes another factor and another jitter', () => {
    const retries = { firstMs: 15, maxMs: 1_000, factor: 4, jitter: 2 / 3 }
    expect(backoff(2, retries, fixed(0))).toBe(240)
    expect(backoff(2, retries, fixed(1))).toBeCloseTo(80)
  })

  test('stays finite for any number of attempts', () => {
    expect(backoff(10_000, LISTENER, fixed(0))).toBe(1_000)
  })
})

describe('Outage', () => {
  function open() {
    const lines: [string, object][] = []
    const runtime = simulate()
    const write = (fields: object, message: string) => void lines.push([message, fields])
    return {
      lines,
      runtime,
      outage: new Outage({ log: { info: write, error: write }, what: 'polling', runtime }),
    }
  }

  test('is logged when it begins and when it ends', async () => {
    const { lines, runtime, outage } = open()
    const error = Object.assign(new Error('away'), { code: 'DATABASE_UNAVAILABLE', hint: 'start it' })
    outage.failed(error)
    expect(outage.isOn).toBe(true)
    await runtime.advance(1_234)
    outage.failed(error)
    outage.worked()
    outage.worked()
    expect(outage.isOn).toBe(false)
    expect(lines).toEqual([
      [
        'polling failed; retrying until it succeeds',
        { err: error, code: 'DATABASE_UNAVAILABLE', hint: 'start it' },
      ],
      ['polling works again', { downMs: 1_234, failures: 2 }],
    ])
  })

  test('waits longer after each failure, and starts over when it has ended', () => {
    const { outage } = open()
    const waits = Array.from({ length: 12 }, () => outage.failed(null))
    expect(waits[0]).toBeLessThanOrEqual(100)
    expect(waits.at(-1)).toBeGreaterThanOrEqual(2_500)
    outage.worked()
    expect(outage.failed(undefined)).toBeLessThanOrEqual(100)
  })

  test('does not end with an attempt that began before another one failed', () => {
    const { outage } = open()
    outage.failed(new Error('one'))
    const { mark } = outage
    outage.failed(new Error('two'))
    outage.worked(mark)
    expect(outage.isOn).toBe(true)
  })
})
