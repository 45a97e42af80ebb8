import type { SignedIn } from '@oncue/core/wire'
import type { Transport } from './transport.ts'

/** For browsers, on the address of the API: a token becomes a cookie that no script can read. */
export interface Session {
  start(token: string): Promise<SignedIn>
  /** The same with the code of a pairing, which makes this browser a device. */
  pair(code: string, name: string): Promise<SignedIn>
  end(): Promise<void>
}

const PATH = '/api/session'

export function createSession(transport: Transport): Session {
  async function signIn(path: string, body: object): Promise<SignedIn> {
    const answer = (await transport.rest('POST', path, body)) as Omit<SignedIn, 'expiresAt'> & {
      readonly expires_at: string
    }
    return { name: answer.name, role: answer.role, expiresAt: new Date(answer.expires_at) }
  }

  return {
    start: (token) => signIn(PATH, { token }),
    pair: (code, name) => signIn(`${PATH}/pair`, { code, name }),
    async end() {
      await transport.rest('DELETE', PATH)
    },
  }
}
