import { usePathname } from 'expo-router'
import type { ReactNode } from 'react'
import { StyleSheet, View } from 'react-native'
import { SignInScreen } from '../../features/sign-in/sign-in-screen.tsx'
import { useSessionState } from '../../lib/session.ts'
import { Mark } from '../ui/mark.tsx'
import { CrashGuard } from './crash-guard.tsx'

/**
 * Without a session, shows the sign-in form in place of the screen. The address does not change, so that a link
 * leads to its target after signing in.
 */
export function Gate({ children }: { readonly children: ReactNode }) {
  const state = useSessionState()
  const pathname = usePathname()
  if (state.status === 'signed-in' || pathname === '/sign-in' || pathname === '/pair')
    return <CrashGuard>{children}</CrashGuard>
  if (state.status === 'signed-out') return <SignInScreen why={state.why} />
  return (
    <View style={styles.wait} role="progressbar" aria-label="Connecting">
      <Mark size={48} />
    </View>
  )
}

const styles = StyleSheet.create({ wait: { flex: 1, alignItems: 'center', justifyContent: 'center' } })
