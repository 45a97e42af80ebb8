import { usePathname } from 'expo-router'
import type { ReactNode } from 'react'
import { StyleSheet, View } from 'react-native'
import { SignInScreen } from '../../features/sign-in/sign-in-screen.tsx'
import { useSessionState } from '../../lib/session.ts'
import { Mark } from '../ui/mark.tsx'
import { CrashGuard } from './crash-guard.tsx'

/**
 * Who is not signed in gets the sign-in in place of the screen. The address stays what it was, so that a link that
 * was opened cold leads to where it should afterwards.
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
