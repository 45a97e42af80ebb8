import { useEffect } from 'react'
import { Observable, useObservable } from './observable.ts'

const MINUTE_MS = 60_000
/** A page that is only looked at asks no more often, however much it shows: a wall of screens must not be a load. */
const MAX_PER_MINUTE = 10

/** How often all that is on the screen would ask. */
const wanted = new Observable(0)

/** The pause between two polls: as long as asked for, or longer where the screen shows a lot. */
export function useBudgeted(everyMs: number | false): number | false {
  const perMinute = everyMs === false ? 0 : MINUTE_MS / everyMs
  useEffect(() => {
    if (perMinute === 0) return
    wanted.set(wanted.get() + perMinute)
    return () => wanted.set(wanted.get() - perMinute)
  }, [perMinute])
  const all = useObservable(wanted)
  return everyMs === false ? false : everyMs * Math.max(1, all / MAX_PER_MINUTE)
}
