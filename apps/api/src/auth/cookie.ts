import { OncueError } from '@oncue/core'

const NAME = 'oncue_session'

/** The session that a Cookie header carries. */
export function readSessionCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.split('=', 2)
    if (name?.trim() === NAME && value) return value.trim()
  }
  return undefined
}

/** No script reads it, and no other site sends it. */
export function sessionCookie(secret: string, maxAgeMs: number, isSecure: boolean): string {
  const seconds = Math.max(0, Math.floor(maxAgeMs / 1_000))
  return `${NAME}=${secret}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

export const endedCookie = (isSecure: boolean) => sessionCookie('', 0, isSecure)

/**
 * A browser sends the cookie by itself, so a change that a cookie proves must come from a page of ours.
 * `SameSite=Strict` alone would let in what is on the same site, such as another port.
 */
export function assertOrigin(
  headers: {
    readonly origin?: string | undefined
    readonly 'sec-fetch-site'?: string | string[] | undefined
  },
  host: string,
): void {
  const { origin } = headers
  if (origin === undefined ? headers['sec-fetch-site'] === 'same-origin' : hostOf(origin) === host) return
  const from =
    origin === undefined ? 'a request without the header Origin' : `the origin ${JSON.stringify(origin)}`
  throw new OncueError('FORBIDDEN', `A session cookie cannot be used by ${from}`, {
    hint: 'Call the API from its own pages, or with a bearer token. Behind a proxy, pass the host on.',
  })
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
