import dgram from 'node:dgram'
import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

/**
 * Closes the network to this process, for versions of Node whose permission model does not do it (before 25). Everything
 * of Node's connects and listens through these: http, tls, fetch, WebSocket. Threads, child processes, native code and
 * `process.binding` are closed by the permission model.
 */
export function closeNetwork(): void {
  const close = (of: object, names: Iterable<string>) => {
    for (const name of names) {
      const refuse = () => {
        const message = `the network is closed in a dry run (${name})`
        throw Object.assign(new Error(message), { code: 'ERR_ACCESS_DENIED', permission: 'Net' })
      }
      Object.defineProperty(of, name, { value: refuse })
    }
  }
  close(net.Socket.prototype, ['connect'])
  close(net.Server.prototype, ['listen'])
  close(dgram.Socket.prototype, ['bind', 'connect', 'send'])
  for (const resolver of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype])
    close(
      resolver,
      Object.getOwnPropertyNames(resolver).filter((name) => /^(lookup|resolve|reverse)/.test(name)),
    )
  syncBuiltinESMExports()
}
