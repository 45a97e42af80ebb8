import { OncueError } from '@oncue/core'

const NAME = 'oncue_session'

/** With the prefix a browser accepts the cookie only from this host over https, not from a sibling domain. */
const nameOf = (isSecure: boolean) => (isSecure ? `__Host-${NAME}` : NAME)

/** The session that a Cookie header carries. */
export function readSessionCookie(header: string | undefined, isSecure: boolean): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.split('=', 2)
    if (name?.trim() === nameOf(isSecure) && value) return value.trim()
  }
  return undefined
}

/** Scripts cannot read it, and other sites cannot send it. */
export function sessionCookie(secret: string, maxAgeMs: number, isSecure: boolean): string {
  const seconds = Math.max(0, Math.floor(maxAgeMs / 1_000))
  const name = nameOf(isSecure)
  return `${name}=${secret}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

export const endedCookie = (isSecure: boolean) => sessionCookie('', 0, isSecure)

/** The address that a request came in at, and the public one. */
export interface Reached {
  readonly protocol: string
  readonly host: string
  /** Null: only the address that each request came in at. */
  readonly publicUrl: string | null
}

/** A proxy may terminate https without saying so; the public URL says so. */
export function isSecure({ protocol, publicUrl }: Reached): boolean {
  return protocol === 'https' || publicUrl?.startsWith('https:') === true
}

/**
 * Browsers send the cookie by themselves, so a change that is authorized by a cookie must come from our own pages.
 * `SameSite=Strict` alone would also accept the same site on another port.
 */
export function assertOrigin(
  headers: {
    readonly origin?: string | undefined
    readonly 'sec-fetch-site'?: string | string[] | undefined
  },
  reached: Reached,
): void {
  const { origin } = headers
  const isOurs =
    origin === undefined
      ? headers['sec-fetch-site'] === 'same-origin'
      : ownOrigins(reached).includes(origin.toLowerCase())
  if (isOurs) return
  const { publicUrl } = reached
  if (publicUrl !== null && isLost(reached) && origin?.toLowerCase() === originOf(reached))
    throw new OncueError(
      'FORBIDDEN',
      `A session cookie is not accepted from ${JSON.stringify(origin)}: ONCUE_PUBLIC_URL is https, and browsers send the cookie only over https`,
      { hint: `Open ${new URL(publicUrl).origin} instead, or call the API with a bearer token.` },
    )
  const from =
    origin === undefined ? 'a request without the header Origin' : `the origin ${JSON.stringify(origin)}`
  throw new OncueError('FORBIDDEN', `A session cookie is not accepted from ${from}`, {
    hint: 'Call the API from its own pages, or with a bearer token. Behind a proxy, set ONCUE_PUBLIC_URL to the address that people use.',
  })
}

/** With their scheme: a page over http may have been changed on its way. */
function ownOrigins(reached: Reached): string[] {
  const { host, publicUrl } = reached
  if (publicUrl === null) return [originOf(reached)]
  const known = new URL(publicUrl)
  const isOther = host.toLowerCase() !== known.host && !isLost(reached)
  return isOther ? [known.origin, originOf(reached)] : [known.origin]
}

const originOf = ({ protocol, host }: Reached) => `${protocol}://${host}`.toLowerCase()

/** The cookie would be `Secure`, which browsers neither store nor send over http. */
const isLost = (reached: Reached) => isSecure(reached) && reached.protocol !== 'https'
