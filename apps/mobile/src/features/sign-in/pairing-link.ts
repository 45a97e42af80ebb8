import { hidesServer, toServerUrl } from '../../lib/address.ts'

export interface PairingLink {
  readonly url: string
  readonly code: string
}

/** What a QR code carries: `https://oncue.example.com/pair?code=…`, or `oncue://pair?url=…&code=…`. */
export function readPairingLink(text: string): PairingLink | undefined {
  const { server, code } = partsOf(text)
  const url = toServerUrl(server)
  return code && url ? { url, code } : undefined
}

/** A link that pretends to lead to another server. */
export function isHidingLink(text: string): boolean {
  const { server, code } = partsOf(text)
  return code !== null && hidesServer(server)
}

function partsOf(text: string): { readonly server: string; readonly code: string | null } {
  const [address = '', query = ''] = text.trim().split('?')
  const params = new URLSearchParams(query)
  const server = params.get('url') ?? (/^https?:/i.test(address) ? address.replace(/\/pair\/?$/, '') : '')
  return { server, code: params.get('code') }
}
