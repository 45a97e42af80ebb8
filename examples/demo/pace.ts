import { setTimeout as delay } from 'node:timers/promises'

/** How time passes for the demo. */
export interface Pace {
  now(): Date
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Lets this much time pass, and resolves afterwards. */
  advance(ms: number, signal?: AbortSignal): Promise<void>
  /** Afterwards time stands still until the next `advance`, however long that takes. */
  readonly isFast: boolean
}

const wait = (ms: number, signal?: AbortSignal): Promise<void> => delay(ms, undefined, signal && { signal })

export const realTime: Pace = { now: () => new Date(), sleep: wait, advance: wait, isFast: false }

/** How often sleepers check whether time has moved. */
const LOOK_MS = 1

/**
 * Begins in the past and runs `speed` times as fast as real time, but only as far as it is told: on a slow
 * machine everything takes longer, with the same result.
 */
export function fastForward(from: Date, speed: number): Pace {
  let began = from.getTime()
  let until = began
  let since = performance.now()
  const now = () => Math.min(until, began + (performance.now() - since) * speed)
  return {
    isFast: true,
    now: () => new Date(now()),
    async advance(ms, signal) {
      began = until
      until += ms
      since = performance.now()
      await wait(ms / speed, signal)
    },
    async sleep(ms, signal) {
      for (const end = now() + ms; now() < end; ) await wait(Math.max(LOOK_MS, (end - now()) / speed), signal)
    },
  }
}
