/** What people type, as an address: `oncue.example.com/` is meant to be `https://oncue.example.com`. */
export function toServerUrl(typed: string): string | undefined {
  const text = typed.trim().replace(/\/+$/, '')
  const address = /^https?:\/\//i.test(text) ? text : `${isLocal(text) ? 'http' : 'https'}://${text}`
  if (!/^https?:\/\/[^\s/?#@:]+(:\d+)?(\/[^\s?#]*)?$/i.test(address)) return undefined
  return address
}

const isLocal = (host: string) =>
  /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|[^/]+\.local)/i.test(host)

export function hostOf(url: string): string {
  return url.replace(/^https?:\/\//i, '').replace(/\/.*$/, '')
}
