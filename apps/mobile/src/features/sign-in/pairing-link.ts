import { toServerUrl } from '../../lib/address.ts'

export interface PairingLink {
  readonly url: string
  readonly code: string
}

/** What a QR code carries: `https://oncue.example.com/pair?code=…`, or `oncue://pair?url=…&code=…`. */
export function readPairingLink(text: string): PairingLink | undefined {
  const [address = '', query = ''] = text.trim().split('?')
  const params = new URLSearchParams(query)
  const code = params.get('code')
  const server = params.get('url') ?? (/^https?:/i.test(address) ? address.replace(/\/pair\/?$/, '') : '')
  const url = toServerUrl(server)
  return code && url ? { url, code } : undefined
}
