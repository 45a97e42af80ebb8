import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'

/** The client's address as reported by trusted proxies, or that of the connection if the report is no address. */
export function addressOf({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  const address = [ip, socket.remoteAddress ?? ''].find((text) => isIP(text) !== 0)
  return address === undefined ? '' : ipaddr.process(address).toString()
}

/** The unit of rate limits: an IPv4 address, or the IPv6 /64 that one customer usually has. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const parsed = ipaddr.parse(address) as ipaddr.IPv6
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
