import { Observable, useObservable } from './observable.ts'

/**
 * Heard once for everybody. Where each component asks, Chromium tells nobody: whoever reads `matches` between a change
 * and the next frame uses up its event, and half of the page stays dark on dark.
 */
const query = globalThis.matchMedia('(prefers-color-scheme: dark)')
const isDark = new Observable(query.matches)
query.addEventListener('change', ({ matches }) => isDark.set(matches))

export function useSystemIsDark(): boolean {
  return useObservable(isDark)
}
