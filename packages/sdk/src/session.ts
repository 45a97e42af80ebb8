import type { SignedIn } from '@oncue/core/wire'
import type { Transport } from './transport.ts'

/** For browsers, at the API's own address: exchanges a token for a cookie that scripts cannot read. */
export interface Session {
  start(token: string): Promise<SignedIn>
  /** The same with a pairing code, which makes this browser a device. */
  pair(code: string, name: string): Promise<SignedIn>
  end(): Promise<void>
}

const PATH = '/api/session'

export function createSession(transport: Transport): Session {
  async function signIn(path: string, body: object): Promise<SignedIn> {
    const session = (await transport.rest('POST', path, body)) as Omit<SignedIn, 'expiresAt'> & {
      readonly expires_at: string
    }
    return { name: session.name, role: session.role, expiresAt: new Date(session.expires_at) }
  }

  return {
    start: (token) => signIn(PATH, { token }),
    pair: (code, name) => signIn(`${PATH}/pair`, { code, name }),
    async end() {
      await transport.rest('DELETE', PATH)
    },
  }
}
