/** Completes a typed address: `oncue.example.com/` becomes `https://oncue.example.com`. */
export function toServerUrl(typed: string): string | undefined {
  const text = typed.trim().replace(/\/+$/, '')
  const address = /^https?:\/\//i.test(text) ? text : `${isLocal(text) ? 'http' : 'https'}://${text}`
  const [, scheme = '', host = '', rest = ''] = ADDRESS.exec(address) ?? []
  return host === '' ? undefined : `${scheme.toLowerCase()}://${host.toLowerCase()}${rest}`
}

/**
 * Refuses everything that could be mistaken for another server: a user before an @, a backslash (which some parsers
 * read as a slash), and look-alike letters. A name in another script has to be written in its xn-- form.
 */
const ADDRESS =
  /^(https?):\/\/([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])((?::\d{1,5})?(?:\/[\w.~/-]*)?)$/i

/** Whether the part before an @ could be mistaken for the server: `https://good.example@evil.example`. */
export function hidesServer(address: string): boolean {
  return /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^/\\?#]*@/i.test(address.trim())
}

export const HIDDEN_SERVER = 'This link hides where it leads (…@…). Do not use it.'

/** Matches the whole host: `10.evil.example` is not local. */
const LOCAL =
  /^(localhost|\[::1\]|(127|10)(\.\d{1,3}){3}|192\.168(\.\d{1,3}){2}|172\.(1[6-9]|2\d|3[01])(\.\d{1,3}){2}|[a-z0-9.-]+\.local)(:\d+)?(\/|$)/i
const isLocal = (address: string) => LOCAL.test(address)

/** An address that means the device itself, whichever device reads it. */
export function isLoopback(address: string): boolean {
  return /^(https?:\/\/)?(localhost|[a-z0-9-]+\.localhost|127(\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\])(:\d+)?(\/|$)/i.test(
    address.trim(),
  )
}

export function hostOf(url: string): string {
  return url.replace(/^https?:\/\//i, '').replace(/\/.*$/, '')
}
