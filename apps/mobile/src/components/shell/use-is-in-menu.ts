import { usePathname } from 'expo-router'
import { useIsWide } from '../../theme/use-theme.ts'
import { MAIN, MORE, OTHERS } from './destinations.ts'

/** The screen is an entry of the rail or of the tab bar, which is in sight: it needs no way back. */
export function useIsInMenu(): boolean {
  const pathname = usePathname()
  const entries = useIsWide() ? [...MAIN, ...MORE, OTHERS] : [...MAIN, OTHERS]
  return entries.some(({ href }) => href === pathname)
}
