import { useEffect } from 'react'
import { Observable, useObservable } from './observable.ts'

/** How far the server's clock is ahead of this device's, by what it last said. */
let offsetMs = 0

export function syncClock(serverNow: Date, receivedAt = Date.now()): void {
  offsetMs = serverNow.getTime() - receivedAt
}

/** What the server's clock shows now: ages are counted by it, whatever this device believes. */
export function serverNow(): number {
  return Date.now() + offsetMs
}

/** The moment at which the screen stands still, by the server's clock; null: it follows the time. */
const frozen = new Observable<number | null>(null)

/** While the server is silent no duration grows: none was measured. `at` is this device's time. */
export function freezeClock(at: Date | null): void {
  frozen.set(at && at.getTime() + offsetMs)
}

const tick = new Observable(0)
let followers = 0
let timer: ReturnType<typeof setInterval> | undefined

/** The server's time, again each second: all durations on the screen move at once, or stand still. */
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
