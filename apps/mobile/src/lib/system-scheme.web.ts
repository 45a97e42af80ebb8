import { Observable, useObservable } from './observable.ts'

/**
 * One listener for all components. In Chromium, reading `matches` between a change and the next frame swallows the
 * change event, so components with their own queries would keep the old theme.
 */
const query = globalThis.matchMedia('(prefers-color-scheme: dark)')
const isDark = new Observable(query.matches)
query.addEventListener('change', ({ matches }) => isDark.set(matches))

export function useSystemIsDark(): boolean {
  return useObservable(isDark)
}
