// A browser has a session cookie, which no script can read: there is nothing to store.
export async function readToken(_serverId: string): Promise<string | null> {
  return null
}

export async function saveToken(_serverId: string, _token: string): Promise<void> {}

export async function forgetToken(_serverId: string): Promise<void> {}
