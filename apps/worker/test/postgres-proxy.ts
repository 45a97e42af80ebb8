import { once } from 'node:events'
import { createServer, Socket } from 'node:net'

/** What a server says that has no connection left: an ErrorResponse with its code and message. */
const TOO_MANY = errorResponse('53300', 'sorry, too many clients already')

/** Between a worker and the server. */
export interface PostgresProxy {
  readonly url: string
  /** Connections that were asked for, and refused because of `isFull`. */
  readonly counts: { opened: number; refused: number }
  /** New connections are refused as a full server does it. */
  isFull: boolean
  /** Ends all connections. */
  cut(): void
  /** Leaves connections of that application open, and lets nothing through any more. Answers how many. */
  freeze(application: string): number
  close(): Promise<void>
}

export async function startProxy(url: string): Promise<PostgresProxy> {
  const { port, hostname } = new URL(url)
  const pairs = new Set<{ inside: Socket; outside: Socket; application: string }>()
  const server = createServer((inside) => {
    proxy.counts.opened += 1
    inside.on('error', () => {})
    if (proxy.isFull) {
      proxy.counts.refused += 1
      inside.once('data', () => inside.end(TOO_MANY))
      return
    }
    const outside = new Socket().connect(Number(port), hostname)
    const pair = { inside, outside, application: '' }
    pairs.add(pair)
    outside.on('error', () => {})
    // The first message names the application.
    inside.once('data', (startup) => {
      pair.application = /application_name\0([^\0]*)\0/.exec(startup.toString('latin1'))?.[1] ?? ''
    })
    inside.pipe(outside)
    outside.pipe(inside)
    const end = () => {
      pairs.delete(pair)
      inside.destroy()
      outside.destroy()
    }
    inside.once('close', end)
    outside.once('close', end)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxied = new URL(url)
  proxied.port = String((server.address() as { port: number }).port)

  const proxy: PostgresProxy = {
    url: proxied.href,
    counts: { opened: 0, refused: 0 },
    isFull: false,
    cut() {
      for (const { inside } of pairs) inside.destroy()
    },
    freeze(application) {
      const frozen = [...pairs].filter((pair) => pair.application === application)
      for (const { inside, outside } of frozen) {
        inside.unpipe().pause()
        outside.unpipe().pause()
      }
      return frozen.length
    },
    async close() {
      server.close()
      for (const { inside, outside } of pairs) {
        inside.destroy()
        outside.destroy()
      }
      await once(server, 'close')
    },
  }
  return proxy
}

function errorResponse(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(4 + fields.length, 1)
  return Buffer.concat([head, fields])
}
