import type { Outputs } from '@oncue/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { addNetworkStateListener } from 'expo-network'
import { createContext, type ReactNode, useContext, useEffect, useMemo } from 'react'
import { AppState, Platform } from 'react-native'
import { freezeClock, syncClock } from './clock.ts'
import { Connection, type ConnectionState } from './connection.ts'
import { Observable, useObservable } from './observable.ts'
import { useSession, useSessionState } from './session.ts'

export type Health = Outputs['health']['get']

/** The cache key of the newest health. */
export const HEALTH_KEY = ['health.get'] as const

const ConnectionContext = createContext<Connection<Health> | null>(null)
const CONNECTING = new Observable<ConnectionState>({ phase: 'connecting', dataAt: null })

/** One stream for the whole app, while it is in the foreground. */
export function ConnectionProvider({ children }: { readonly children: ReactNode }) {
  const session = useSession()
  const state = useSessionState()
  const queries = useQueryClient()
  const streams = state.status === 'signed-in' ? state.streams : null

  const connection = useMemo(() => {
    if (!streams) return null
    return new Connection<Health>({
      watch: (signal) => streams.health.watch(undefined, { signal }),
      get: (signal) => streams.health.get(undefined, { signal }),
      onMessage(health) {
        syncClock(health.now)
        queries.setQueryData(HEALTH_KEY, health)
        void session.recognise()
      },
      onBack: () => void queries.invalidateQueries(),
      onRefused: () => session.expire(),
    })
  }, [streams, queries, session])

  useEffect(() => {
    if (!connection) return
    connection.start()
    const freezing = connection.state.subscribe(() => {
      const { phase, dataAt } = connection.state.get()
      freezeClock(phase === 'offline' ? dataAt : null)
    })
    // A browser tab stays connected in the background: its title says when something is wrong.
    const appState = AppState.addEventListener('change', (next) => {
      if (Platform.OS === 'web') return
      if (next === 'background') connection.stop()
      if (next !== 'active') return
      connection.start()
      void queries.invalidateQueries()
    })
    const network = addNetworkStateListener(({ isConnected }) => {
      if (isConnected === false) connection.networkLost()
      else connection.retryNow()
    })
    return () => {
      appState.remove()
      network.remove()
      connection.stop()
      freezing()
      freezeClock(null)
    }
  }, [connection, queries])

  return <ConnectionContext.Provider value={connection}>{children}</ConnectionContext.Provider>
}

export function useConnection(): Connection<Health> | null {
  return useContext(ConnectionContext)
}

/** The server has not responded for so long that nothing on the screen is current. */
export function useIsOffline(): boolean {
  return useConnectionState().phase === 'offline'
}

export function useConnectionState(): ConnectionState {
  return useObservable(useConnection()?.state ?? CONNECTING)
}
