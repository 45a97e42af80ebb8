import AsyncStorage from '@react-native-async-storage/async-storage'

/** A value that this app stored under this name. Undefined: none, or one that cannot be read. */
export async function readStored<Value>(key: string): Promise<Value | undefined> {
  try {
    const stored = await AsyncStorage.getItem(key)
    return stored === null ? undefined : (JSON.parse(stored) as Value)
  } catch {
    return undefined
  }
}
