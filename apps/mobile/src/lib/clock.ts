import { useEffect } from 'react'
import { Observable, useObservable } from './observable.ts'

/** How far the server's clock is ahead of this device's, as of the last response. */
let offsetMs = 0

export function syncClock(serverNow: Date, receivedAt = Date.now()): void {
  offsetMs = serverNow.getTime() - receivedAt
}

/** The server's current time. Ages are computed with it, since this device's clock may be wrong. */
export function serverNow(): number {
  return Date.now() + offsetMs
}

/** The server time at which the screen is frozen. Null: it follows the clock. */
const frozen = new Observable<number | null>(null)

/** While the server does not respond, durations stop: they are not measured. `at` is this device's time. */
export function freezeClock(at: Date | null): void {
  frozen.set(at && at.getTime() + offsetMs)
}

/** The server time of the data while the server does not respond; null while it does. Does not tick. */
export function useFrozenAt(): number | null {
  return useObservable(frozen)
}

const tick = new Observable(0)
let followers = 0
let timer: ReturnType<typeof setInterval> | undefined

/** The server's time, updated each second: all durations on the screen move together, or stop. */
export function useServerNow(): number {
  useEffect(() => {
    followers += 1
    timer ??= setInterval(() => tick.set(tick.get() + 1), 1_000)
    return () => {
      followers -= 1
      if (followers > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }, [])
  useObservable(tick)
  return useObservable(frozen) ?? serverNow()
}
