import { OncueError } from '@oncue/core'
import { quote } from '@oncue/core/internal'

/**
 * A host application recognises people by what browsers send by themselves, such as a cookie, so a change must come from a
 * page of its own origin. Browsers say so in Sec-Fetch-Site, which no page can set, and which proxies do not falsify; over
 * http to another machine they send only Origin.
 */
export function assertSameOrigin(headers: Headers, publicUrl: string | null): void {
  const [origin = null, fetchSite = null, host = null] = ['origin', 'sec-fetch-site', 'host'].map((name) =>
    headers.get(name),
  )
  if (fetchSite !== null ? fetchSite === 'same-origin' : isOwn(origin, host, publicUrl)) return
  const from =
    fetchSite !== null
      ? `a page that is ${quote(fetchSite)}`
      : origin === null
        ? 'a request without the header Origin'
        : `the origin ${quote(origin)}`
  throw new OncueError('FORBIDDEN', `A change is not accepted from ${from}`, {
    hint: 'Send it from a page of the same origin; a program sends the header Origin with its address. Behind a proxy, set publicUrl to the address that people use.',
  })
}

/** The scheme is that of the proxy in front, which is known from the public URL alone. */
function isOwn(origin: string | null, host: string | null, publicUrl: string | null): boolean {
  if (origin === null || !URL.canParse(origin)) return false
  if (publicUrl !== null) return new URL(origin).origin === new URL(publicUrl).origin
  return new URL(origin).host === host?.toLowerCase()
}
