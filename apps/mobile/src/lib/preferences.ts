import AsyncStorage from '@react-native-async-storage/async-storage'
import { Observable, useObservable } from './observable.ts'
import { readStored } from './stored.ts'

const KEY = 'oncue.preferences'

export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark'
  readonly haptics: boolean
  readonly notifications: boolean
}

const preferences = new Observable<Preferences>({ theme: 'system', haptics: true, notifications: false })

/** What this device was told to look and feel like. */
export async function loadPreferences(): Promise<void> {
  preferences.set({ ...preferences.get(), ...(await readStored<Partial<Preferences>>(KEY)) })
}

export function usePreference<Name extends keyof Preferences>(
  name: Name,
): [value: Preferences[Name], set: (value: Preferences[Name]) => void] {
  const all = useObservable(preferences)
  return [all[name], (value) => setPreference(name, value)]
}

export function getPreference<Name extends keyof Preferences>(name: Name): Preferences[Name] {
  return preferences.get()[name]
}

function setPreference<Name extends keyof Preferences>(name: Name, value: Preferences[Name]): void {
  const next = { ...preferences.get(), [name]: value }
  preferences.set(next)
  // One that cannot be kept holds until the app is closed.
  AsyncStorage.setItem(KEY, JSON.stringify(next)).catch(() => {})
}
