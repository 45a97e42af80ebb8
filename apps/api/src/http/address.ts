import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'

/** Where a request came from, as far as the proxies that are trusted tell; the connection's if that is no address. */
export function addressOf({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  const address = [ip, socket.remoteAddress ?? ''].find((text) => isIP(text) !== 0)
  return address === undefined ? '' : ipaddr.process(address).toString()
}

/** What limits are counted by: an IPv4 address, or the /64 of IPv6 that one customer has to choose from. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const parsed = ipaddr.parse(address) as ipaddr.IPv6
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
