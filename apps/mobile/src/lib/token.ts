import * as SecureStore from 'expo-secure-store'

const nameOf = (serverId: string) => `oncue.token.${serverId}`

/** Kept out of backups, and unreadable while the phone is locked. */
const OPTIONS: SecureStore.SecureStoreOptions = {
  keychainAccessible: SecureStore.WHEN_UNLOCKED_THIS_DEVICE_ONLY,
}

// In the iOS keychain or the Android keystore, never beside the settings.
export function readToken(serverId: string): Promise<string | null> {
  return SecureStore.getItemAsync(nameOf(serverId), OPTIONS)
}

export function saveToken(serverId: string, token: string): Promise<void> {
  return SecureStore.setItemAsync(nameOf(serverId), token, OPTIONS)
}

export function forgetToken(serverId: string): Promise<void> {
  return SecureStore.deleteItemAsync(nameOf(serverId), OPTIONS)
}
