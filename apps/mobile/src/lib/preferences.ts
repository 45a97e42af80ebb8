import AsyncStorage from '@react-native-async-storage/async-storage'
import { Observable, useObservable } from './observable.ts'
import { readStored } from './stored.ts'
import { showTimesIn, type TimeZone } from './time-zone.ts'

const KEY = 'oncue.preferences'

export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark'
  readonly haptics: boolean
  /** The zone of all absolute times. */
  readonly times: TimeZone
  /** The servers that may notify this device: each was turned on separately. */
  readonly notifiedBy: readonly string[]
  /** Of the table of jobs: how high its rows are, and which columns it has; null: the usual ones. */
  readonly density: 'comfortable' | 'compact'
  readonly jobColumns: readonly string[] | null
}

const preferences = new Observable<Preferences>({
  ...{ theme: 'system', haptics: true, times: 'local', notifiedBy: [] },
  ...{ density: 'comfortable', jobColumns: null },
})

function change(next: Preferences): void {
  showTimesIn(next.times)
  preferences.set(next)
}

/** Preferences of this device. */
export async function loadPreferences(): Promise<void> {
  change({ ...preferences.get(), ...(await readStored<Partial<Preferences>>(KEY)) })
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

export const isNotifiedBy = (serverId: string): boolean => getPreference('notifiedBy').includes(serverId)

export function setNotifiedBy(serverId: string, isOn: boolean): void {
  if (isOn === isNotifiedBy(serverId)) return
  const others = getPreference('notifiedBy').filter((id) => id !== serverId)
  setPreference('notifiedBy', isOn ? [...others, serverId] : others)
}

export function useNotifiedBy(serverId: string): boolean {
  return useObservable(preferences).notifiedBy.includes(serverId)
}

function setPreference<Name extends keyof Preferences>(name: Name, value: Preferences[Name]): void {
  const next = { ...preferences.get(), [name]: value }
  change(next)
  // A preference that cannot be stored lasts until the app is closed.
  AsyncStorage.setItem(KEY, JSON.stringify(next)).catch(() => {})
}
