import { type Client, createClient, isOncueError, OncueError } from '@oncue/sdk'
import { createContext, useContext } from 'react'
import { HOME_SERVER } from './home-server.ts'
import { Observable, useObservable } from './observable.ts'
import { type Me, type Probed, probe, troubleOf } from './probe.ts'
import { addServer, chooseServer, forgetServer, loadServers, type Server, type Servers } from './servers.ts'
import { readToken } from './token.ts'

export type SessionState =
  | { readonly status: 'loading' }
  | { readonly status: 'signed-out'; readonly why: string | null }
  | {
      readonly status: 'signed-in'
      readonly server: Server
      readonly client: Client
      /** For streams: it does not retry, so that a broken stream is reported at once. */
      readonly streams: Client
      /** Null until the server has responded. */
      readonly me: Me | null
    }

interface SignedOut {
  /** The server was unreachable, so it still lists the paired device. */
  readonly isStillListed: boolean
}

const STREAM_TIMEOUT_MS = 10_000
const LEAVE_TIMEOUT_MS = 5_000

/** The current server, and who is signed in there. */
export class Session {
  readonly state = new Observable<SessionState>({ status: 'loading' })
  readonly servers = new Observable<Servers>({ servers: [], currentId: null })
  /** While signing out, a rejected session is expected and not reported. */
  #isLeaving = false

  async start(): Promise<void> {
    if (HOME_SERVER) return this.#open(HOME_SERVER)
    this.servers.set(await loadServers())
    await this.#openCurrent()
  }

  async signIn(url: string, token: string): Promise<Probed> {
    if (HOME_SERVER) return this.#signInHome(HOME_SERVER, token)
    const probed = await probe(url, token)
    if (!probed.ok) return probed
    this.servers.set(await addServer(this.servers.get(), url, token))
    const server = this.#current()
    if (server) this.#enter(server, probed.me)
    return probed
  }

  /** Exchanges a pairing code for this device's token. */
  async pair(url: string, code: string, name: string): Promise<Probed> {
    const { secret } = await createClient({ url, retries: 0 }).pairings.exchange({ code, name })
    return this.signIn(url, secret)
  }

  async choose(id: string): Promise<void> {
    this.servers.set(await chooseServer(this.servers.get(), id))
    await this.#openCurrent()
  }

  /**
   * Signs out of the current server, unless another is named. On a phone the server is asked to revoke this device;
   * the token is deleted whether or not the server could be reached.
   */
  async signOut(id?: string): Promise<SignedOut> {
    const state = this.state.get()
    if (HOME_SERVER) {
      await clientOf(HOME_SERVER).session.end()
      this.state.set({ status: 'signed-out', why: null })
      return { isStillListed: false }
    }
    const leaving = id ?? (state.status === 'signed-in' ? state.server.id : null)
    const server = this.servers.get().servers.find((each) => each.id === leaving)
    if (!server) return { isStillListed: false }
    this.#isLeaving = true
    try {
      const isCurrent = state.status === 'signed-in' && state.server.id === server.id
      const isStillListed = !(await letGo(server, isCurrent ? state.me : null))
      this.servers.set(await forgetServer(this.servers.get(), server.id))
      if (state.status !== 'signed-in' || state.server.id === server.id) await this.#openCurrent()
      return { isStillListed }
    } finally {
      this.#isLeaving = false
    }
  }

  /** Fetches who is signed in, once the server responds, if that was not possible before. */
  async recognise(): Promise<void> {
    const state = this.state.get()
    if (state.status !== 'signed-in' || state.me) return
    const me = await state.client.tokens.me().catch(() => null)
    const now = this.state.get()
    if (me && now.status === 'signed-in' && now.client === state.client) this.state.set({ ...now, me })
  }

  /** The server rejected the session: shows the sign-in form, and after it the same screen. */
  expire(): void {
    if (this.state.get().status === 'signed-in' && !this.#isLeaving)
      this.state.set({
        status: 'signed-out',
        why: 'Your session has expired. Sign in to continue where you left off.',
      })
  }

  /** Exchanges the token for a session cookie; the token is not stored. */
  async #signInHome(home: Server, token: string): Promise<Probed> {
    try {
      await clientOf(home).session.start(token)
    } catch (error) {
      return troubleOf(error)
    }
    const probed = await probe(home.url, undefined)
    if (probed.ok) this.#enter(home, probed.me)
    return probed
  }

  async #openCurrent(): Promise<void> {
    const server = this.#current()
    if (!server) return this.state.set({ status: 'signed-out', why: null })
    return this.#open(server)
  }

  #current(): Server | undefined {
    const { servers, currentId } = this.servers.get()
    return servers.find(({ id }) => id === currentId) ?? servers[0]
  }

  async #open(server: Server): Promise<void> {
    try {
      const me = await clientOf(server).tokens.me()
      if (me.may.includes('read')) return this.#enter(server, me)
      this.state.set({ status: 'signed-out', why: null })
    } catch (error) {
      if (isOncueError(error, 'UNAUTHORIZED')) return this.state.set({ status: 'signed-out', why: null })
      // The server did not reject the token: the screens say what is wrong, and recover by themselves.
      this.#enter(server, null)
    }
  }

  #enter(server: Server, me: Me | null): void {
    const streams = clientOf(server, { retries: 0, timeoutMs: STREAM_TIMEOUT_MS })
    this.state.set({ status: 'signed-in', server, client: clientOf(server), streams, me })
  }
}

/** Revokes this device; true if the server lists it no longer. A token that was typed in is shared, and stays. */
async function letGo(server: Server, me: Me | null): Promise<boolean> {
  const client = clientOf(server, { retries: 0, timeoutMs: LEAVE_TIMEOUT_MS })
  try {
    const { kind, id } = me ?? (await client.tokens.me())
    if (kind === 'device') await client.devices.revoke({ id })
    return true
  } catch (error) {
    return isOncueError(error, 'UNAUTHORIZED')
  }
}

function clientOf(server: Server, options: { retries?: number; timeoutMs?: number } = {}): Client {
  if (HOME_SERVER) return createClient({ url: server.url, ...options })
  const token = async () => (await readToken(server.id)) ?? ''
  return createClient({ url: server.url, token, ...options })
}

export const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new OncueError('INTERNAL', 'useSession outside of its provider')
  return session
}

export function useSessionState(): SessionState {
  return useObservable(useSession().state)
}

/** The session within screens, which the gate shows only to signed-in users. */
export function useSignedIn(): Extract<SessionState, { status: 'signed-in' }> {
  const state = useSessionState()
  if (state.status !== 'signed-in') throw new OncueError('INTERNAL', 'A screen before the gate')
  return state
}
