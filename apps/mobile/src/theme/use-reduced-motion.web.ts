import { Observable, useObservable } from '../lib/observable.ts'

const query = globalThis.matchMedia('(prefers-reduced-motion: reduce)')
const isReduced = new Observable(query.matches)
query.addEventListener('change', ({ matches }) => isReduced.set(matches))

/**
 * Known from the first render on: a dialog whose animation is taken away after it began never learns that it is open,
 * and Escape does not close it.
 */
export function useReducedMotion(): boolean {
  return useObservable(isReduced)
}
