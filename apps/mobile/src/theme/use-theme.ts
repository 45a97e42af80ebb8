import { useMemo, useSyncExternalStore } from 'react'
import { Appearance, useWindowDimensions } from 'react-native'
import { usePreference } from '../lib/preferences.ts'
import { dark, light, type Palette, WIDE } from './tokens.ts'

export interface Theme {
  readonly isDark: boolean
  readonly colors: Palette
}

/** As the system has it, unless the settings say otherwise. */
export function useTheme(): Theme {
  const system = useSyncExternalStore(subscribe, Appearance.getColorScheme)
  const [choice] = usePreference('theme')
  const isDark = (choice === 'system' ? system : choice) === 'dark'
  return useMemo(() => ({ isDark, colors: isDark ? dark : light }), [isDark])
}

/** Not by `useColorScheme`: on the web it misses a change that comes while something is shown for the first time. */
function subscribe(onChange: () => void): () => void {
  const subscription = Appearance.addChangeListener(onChange)
  return () => subscription.remove()
}

/** Room for the rail, and for a list beside its detail. */
export function useIsWide(): boolean {
  return useWindowDimensions().width >= WIDE
}
