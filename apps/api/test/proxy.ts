import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A network between a client and a server that can be cut, listened to, and led elsewhere. */
export interface Proxy {
  /** The address of the server with the proxy's port. */
  readonly url: string
  /** Every connection that is open breaks; new ones are accepted. */
  cut(): void
  /** Where new connections lead. */
  redirect(target: string): void
}

/** `listen` is asked for each connection, and gets what its client sends. */
export async function startProxy(
  target: string,
  listen: () => (chunk: Buffer) => void = () => () => {},
): Promise<Proxy> {
  let address = new URL(target)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(address.port), address.hostname)
    client.on('data', listen())
    join(client, upstream)
    join(upstream, client)
  })

  function join(from: Socket, to: Socket): void {
    sockets.add(from)
    from.on('error', () => to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
    from.pipe(to)
  }

  function cut(): void {
    for (const socket of sockets) socket.destroy()
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    cut()
    server.close()
  })
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href.replace(/\/$/, ''),
    cut,
    redirect(next) {
      address = new URL(next)
    },
  }
}

/** Counts the statements that go to Postgres over a proxy: the messages Query and Execute of its protocol. */
export class StatementCounter {
  count = 0

  readonly listen = () => {
    let left = Buffer.alloc(0)
    let isStarted = false
    return (chunk: Buffer) => {
      left = Buffer.concat([left, chunk])
      for (;;) {
        // The first message has no type, only a length.
        const head = isStarted ? 1 : 0
        if (left.length < head + 4) return
        const length = head + left.readInt32BE(head)
        if (left.length < length) return
        if (isStarted && isStatement(left.subarray(0, length))) this.count += 1
        isStarted = true
        left = left.subarray(length)
      }
    }
  }
}

/** A query, or the execution of a prepared one; not the one that prepares a new connection: a busy pool opens more of them. */
function isStatement(message: Buffer): boolean {
  const type = String.fromCharCode(message.readUInt8(0))
  return type === 'E' || (type === 'Q' && !message.includes("select set_config('TimeZone'"))
}
