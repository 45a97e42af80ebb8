import { createClient, isOncueError, type Outputs } from '@oncue/sdk'

export type Me = Outputs['tokens']['me']

/** Why a connection failed. Each cause has its own remedy. */
export type Trouble = 'no-network' | 'not-oncue' | 'token-refused' | 'too-old' | 'not-allowed' | 'refused'

export type Probed =
  | { readonly ok: true; readonly me: Me }
  | { readonly ok: false; readonly trouble: Trouble; readonly detail: string }

const TIMEOUT_MS = 10_000

/** Connects step by step, so that the step that failed can be named. */
export async function probe(url: string, token: string | undefined): Promise<Probed> {
  const reached = await reach(url)
  if (reached !== 'oncue') return { ok: false, ...reached }
  const client = createClient({ url, token, retries: 0, timeoutMs: TIMEOUT_MS })
  try {
    const me = await client.tokens.me()
    if (me.kind === 'anonymous' && token !== undefined)
      return { ok: false, trouble: 'token-refused', detail: '' }
    if (!me.may.includes('read')) return refuseReading(me)
    const health = await client.health.get()
    // Old servers do not report their version.
    if (typeof health.version !== 'string') return { ok: false, trouble: 'too-old', detail: '' }
    return { ok: true, me }
  } catch (error) {
    return troubleOf(error)
  }
}

function refuseReading(me: Me): Probed {
  const detail = me.kind === 'anonymous' ? '' : `Its role is ${me.role ?? 'none'}.`
  return { ok: false, trouble: me.kind === 'anonymous' ? 'token-refused' : 'not-allowed', detail }
}

async function reach(url: string): Promise<'oncue' | { trouble: Trouble; detail: string }> {
  const address = `${url.replace(/\/+$/, '')}/healthz`
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const body = (await response.json().catch(() => undefined)) as { status?: unknown } | undefined
    if (response.ok && body?.status === 'ok') return 'oncue'
    return { trouble: 'not-oncue', detail: `It responded with status ${response.status}.` }
  } catch (error) {
    return { trouble: 'no-network', detail: error instanceof Error ? error.message : '' }
  }
}

export function troubleOf(error: unknown): Probed {
  const detail = error instanceof Error ? error.message : ''
  if (isOncueError(error, 'UNAUTHORIZED')) return { ok: false, trouble: 'token-refused', detail: '' }
  if (isOncueError(error, 'FORBIDDEN') || isOncueError(error, 'HTTP_DISABLED'))
    return { ok: false, trouble: 'not-allowed', detail }
  if (isOncueError(error, 'NOT_FOUND')) return { ok: false, trouble: 'too-old', detail: '' }
  if (isOncueError(error, 'NETWORK_ERROR') || isOncueError(error, 'REQUEST_TIMEOUT'))
    return { ok: false, trouble: 'no-network', detail }
  return { ok: false, trouble: 'refused', detail }
}

/** What to show for each cause, and what to do. */
export const TROUBLES: Readonly<Record<Trouble, { readonly title: string; readonly remedy: string }>> = {
  'no-network': {
    title: 'No response',
    remedy: 'Check the address and the network. If the server needs a VPN, turn it on.',
  },
  'not-oncue': {
    title: 'This is not an Oncue server',
    remedy: 'Use the address that the server printed when it started, without a path.',
  },
  'token-refused': {
    title: 'The token was rejected',
    remedy: 'It is wrong, expired or revoked. Ask an admin for a new one.',
  },
  'too-old': {
    title: 'The server is older than this app',
    remedy: 'Update the server, or use the app that the server itself serves.',
  },
  'not-allowed': {
    title: 'This token has no access',
    remedy: 'Use a token whose role is viewer, operator or admin.',
  },
  refused: {
    title: 'The server rejected the request',
    remedy: 'Reason:',
  },
}
