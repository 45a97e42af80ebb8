import { type ReactNode, useContext, useEffect, useState } from 'react'
import { SafeAreaProvider } from 'react-native-safe-area-context'
import { ApiProvider } from '../../lib/api.tsx'
import { ConnectionProvider } from '../../lib/connection-provider.tsx'
import { loadPreferences } from '../../lib/preferences.ts'
import { Session, SessionContext } from '../../lib/session.ts'
import { ToastProvider } from '../ui/toast.tsx'

/** Every context that screens rely on. An existing session, as in tests, is used as it is. */
export function Providers({ children }: { readonly children: ReactNode }) {
  const given = useContext(SessionContext)
  const [session] = useState(() => given ?? new Session())
  useEffect(() => {
    void loadPreferences()
    if (!given) void session.start()
  }, [given, session])
  return (
    <SafeAreaProvider>
      <SessionContext.Provider value={session}>
        <ApiProvider>
          <ConnectionProvider>
            <ToastProvider>{children}</ToastProvider>
          </ConnectionProvider>
        </ApiProvider>
      </SessionContext.Provider>
    </SafeAreaProvider>
  )
}
