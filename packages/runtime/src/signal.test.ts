import { expect, test } from 'vitest'
import { Signal } from './signal.ts'
import { simulate } from './simulation.ts'

test('a signal that was raised earlier is seen at once, and only once', async () => {
  const runtime = simulate()
  const signal = new Signal(runtime)
  signal.raise()
  signal.raise()
  expect(await signal.wait()).toBe(true)
  const again = signal.wait(50)
  await runtime.advance(50)
  expect(await again).toBe(false)
})

test('a signal ends a wait, and its timer', async () => {
  const runtime = simulate()
  const signal = new Signal(runtime)
  const waiting = signal.wait(1_000)
  expect(runtime.timers).toBe(1)
  signal.raise()
  expect(await waiting).toBe(true)
  expect(runtime.timers).toBe(0)
})

test('a wait without a limit sets no timer', async () => {
  const runtime = simulate()
  const signal = new Signal(runtime)
  const waiting = signal.wait()
  expect(runtime.timers).toBe(0)
  signal.raise()
  await waiting
})

test('a signal that was cleared is not seen', async () => {
  const runtime = simulate()
  const signal = new Signal(runtime)
  signal.raise()
  signal.clear()
  const waiting = signal.wait(10)
  await runtime.advance(10)
  expect(await waiting).toBe(false)
})
