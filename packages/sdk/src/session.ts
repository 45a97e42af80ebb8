import type { Role } from '@oncue/core'
import type { Transport } from './transport.ts'

/** For browsers, on the address of the API: a token becomes a cookie that no script can read. */
export interface Session {
  start(token: string): Promise<{ readonly name: string; readonly role: Role; readonly expiresAt: Date }>
  end(): Promise<void>
}

const PATH = '/api/session'

export function createSession(transport: Transport): Session {
  return {
    async start(token) {
      const answer = (await transport.rest('POST', PATH, { token })) as {
        name: string
        role: Role
        expires_at: string
      }
      return { name: answer.name, role: answer.role, expiresAt: new Date(answer.expires_at) }
    },
    async end() {
      await transport.rest('DELETE', PATH)
    },
  }
}
