import { describe, expect, expectTypeOf, test } from 'vitest'
import { type Runtime, systemRuntime, type Timer } from './clock.ts'
import { simulate } from './simulation.ts'

const KINDS: [string, () => Runtime][] = [
  ['the system', () => systemRuntime],
  ['a simulation', simulate],
]

describe.each(KINDS)('%s', (_, create) => {
  const runtime = create()

  test('runs work for the next turn in its order, without time passing', async () => {
    const ran: string[] = []
    runtime.after(0, () => ran.push('first'))
    const cancelled = runtime.after(0, () => ran.push('cancelled'))
    runtime.cancel(cancelled)
    await runtime.sleep(0)
    expect(ran).toEqual(['first'])
  })

  test('ends a sleep when its signal is aborted', async () => {
    const stopping = new AbortController()
    const sleeping = runtime.sleep(60_000, { signal: stopping.signal })
    stopping.abort()
    await sleeping
    await runtime.sleep(60_000, { signal: stopping.signal })
  })

  test('can cancel a timer that was never started, and one twice', () => {
    const timer = runtime.every(60_000, () => {})
    runtime.cancel(timer)
    runtime.cancel(timer)
    runtime.cancel(undefined)
  })

  test('makes random numbers, ids and bytes that differ', () => {
    const numbers = Array.from({ length: 1_000 }, () => runtime.random())
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...numbers)).toBeLessThan(1)
    expect(numbers.reduce((sum, n) => sum + n) / numbers.length).toBeCloseTo(0.5, 1)
    const ids = Array.from({ length: 1_000 }, () => runtime.uuid())
    expect(new Set(ids).size).toBe(1_000)
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(runtime.bytes(16)).toHaveLength(16)
    expect(runtime.bytes(16)).not.toEqual(runtime.bytes(16))
  })
})

test("a timer of the system is Node's own: nothing is allocated around it", () => {
  const timer = systemRuntime.after(60_000, () => {})
  systemRuntime.cancel(timer)
  expect(timer.constructor.name).toBe('Timeout')
  expectTypeOf<NodeJS.Timeout>().toExtend<Timer>()
  expectTypeOf<NodeJS.Immediate>().toExtend<Timer>()
})

describe('the system', () => {
  test('clamps a wait that Node would end at once', () => {
    const timer = systemRuntime.after(1e12, () => {})
    expect((timer as unknown as { _idleTimeout: number })._idleTimeout).toBe(2 ** 31 - 1)
    systemRuntime.cancel(timer)
  })

  test('tells the time', () => {
    expect(Math.abs(systemRuntime.now() - Date.now())).toBeLessThan(1_000)
    const before = systemRuntime.monotonic()
    expect(systemRuntime.monotonic()).toBeGreaterThanOrEqual(before)
  })

  test('runs a file in a thread', async () => {
    const file = new URL(
      `data:text/javascript,import{parentPort,workerData}from'node:worker_threads';parentPort.postMessage(workerData)`,
    )
    const thread = systemRuntime.thread<{ hello: number }>(file, { name: 'echo', data: { hello: 1 } })
    expect(await new Promise((resolve) => thread.on('message', resolve))).toEqual({ hello: 1 })
    await thread.terminate()
  })
})
