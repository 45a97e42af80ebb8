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
      const message = `the network is closed in a dry run (${name})`
      Object.defineProperty(of, name, { value: refusal(message, 'Net') })
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

/** What Node's permission model lets through: files that node:sqlite writes, and signals to other processes. */
export function closeLeaks(): void {
  const close = (of: object, name: string, message: string, permission: string) =>
    Object.defineProperty(of, name, { value: refusal(message, permission) })
  const sqlite = process.getBuiltinModule?.('node:sqlite')
  // Databases in memory, too: they can attach files, and write themselves to one.
  if (sqlite)
    close(sqlite, 'DatabaseSync', 'node:sqlite opens nothing in a dry run (DatabaseSync)', 'FileSystemWrite')
  close(process, 'kill', 'no process gets a signal in a dry run (kill)', 'ChildProcess')
  syncBuiltinESMExports()
}

/** No arrow function, so that `new` and `extends` meet it, too. */
function refusal(message: string, permission: string) {
  return function refuse(): never {
    throw Object.assign(new Error(message), { code: 'ERR_ACCESS_DENIED', permission })
  }
}
