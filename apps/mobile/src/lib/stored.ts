import AsyncStorage from '@react-native-async-storage/async-storage'

/** What this app wrote itself, under this name; undefined: nothing, or nothing that can be read. */
export async function readStored<Value>(key: string): Promise<Value | undefined> {
  try {
    const stored = await AsyncStorage.getItem(key)
    return stored === null ? undefined : (JSON.parse(stored) as Value)
  } catch {
    return undefined
  }
}
