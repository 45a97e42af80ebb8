import { useMemo } from 'react'
import { useWindowDimensions } from 'react-native'
import { useFontScale } from '../lib/font-scale.ts'
import { usePreference } from '../lib/preferences.ts'
import { useSystemIsDark } from '../lib/system-scheme.ts'
import { DESK, dark, light, type Palette, WIDE } from './tokens.ts'

export interface Theme {
  readonly isDark: boolean
  readonly colors: Palette
}

/** The system's theme, unless the settings override it. */
export function useTheme(): Theme {
  const isSystemDark = useSystemIsDark()
  const [choice] = usePreference('theme')
  const isDark = choice === 'system' ? isSystemDark : choice === 'dark'
  return useMemo(() => ({ isDark, colors: isDark ? dark : light }), [isDark])
}

/** Room for the rail, and for a list beside its detail. */
export function useIsWide(): boolean {
  return useWindowDimensions().width >= WIDE
}

/** Room for a table of jobs. */
export function useIsDesk(): boolean {
  return useWindowDimensions().width >= DESK
}

/** With large text, rows grow with their content, and columns are stacked. */
export function useIsLargeText(): boolean {
  return useFontScale() > 1.3
}
