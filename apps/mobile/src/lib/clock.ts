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

const tick = new Observable(0)
let followers = 0
let timer: ReturnType<typeof setInterval> | undefined

/** The server's time, again each second: all durations on the screen move at once. */
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
  return serverNow()
}
