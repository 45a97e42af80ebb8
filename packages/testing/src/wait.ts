import { setTimeout as delay } from 'node:timers/promises'

/** Generous, because tests share two cores. A condition that holds is noticed at once. */
const TIMEOUT_MS = 30_000
const INTERVAL_MS = 10

/**
 * Waits until a condition is truthy. Where the code under test says when it is done (a promise, an event, a message),
 * wait for that instead.
 */
export async function until(condition: () => unknown, timeoutMs = TIMEOUT_MS): Promise<void> {
  await eventually(async () => {
    if (!(await condition())) throw new Error(`Not so within ${timeoutMs} ms: ${condition}`)
  }, timeoutMs)
}

/** Waits until assertions pass, and returns what they return. At the end the last failure is thrown. */
export async function eventually<T>(
  assertions: () => T | Promise<T>,
  timeoutMs = TIMEOUT_MS,
): Promise<Awaited<T>> {
  for (const end = performance.now() + timeoutMs; ; await delay(INTERVAL_MS)) {
    try {
      return await assertions()
    } catch (error) {
      if (performance.now() >= end) throw error
    }
  }
}

/**
 * Shows that something does not happen: assertions must pass all the time, for this long. It takes real time, so
 * say in the test against what the time is long, such as the second after which a worker counts as dead.
 */
export async function observeFor(ms: number, assertions: () => unknown): Promise<void> {
  for (const end = performance.now() + ms; ; await delay(1)) {
    await assertions()
    if (performance.now() >= end) return
  }
}

/**
 * Takes time: for handlers, actors and fake servers whose work has to last. A test that waits for something
 * uses one of the above.
 */
export const nap = (ms: number): Promise<void> => delay(ms)
