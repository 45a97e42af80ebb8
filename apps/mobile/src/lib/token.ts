import * as SecureStore from 'expo-secure-store'

const nameOf = (serverId: string) => `oncue.token.${serverId}`

// In the keychain of iOS and the keystore of Android, never beside the settings.
export function readToken(serverId: string): Promise<string | null> {
  return SecureStore.getItemAsync(nameOf(serverId))
}

export function saveToken(serverId: string, token: string): Promise<void> {
  return SecureStore.setItemAsync(nameOf(serverId), token)
}

export function forgetToken(serverId: string): Promise<void> {
  return SecureStore.deleteItemAsync(nameOf(serverId))
}
