import { once } from 'node:events'
import { createServer, Socket } from 'node:net'

/** What a server says that has no connection left: an ErrorResponse with its code and message. */
const TOO_MANY = errorResponse('53300', 'sorry, too many clients already')

/** The end of every answer: ReadyForQuery, outside of a transaction. */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1')

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
  /** The same for all connections, and for those to come. */
  vanish(): void
  /** Ends the next connection on which this text is sent, once the server has answered and before it is heard. */
  loseAnswerTo(text: string): void
  close(): Promise<void>
}

export async function startProxy(url: string): Promise<PostgresProxy> {
  const { port, hostname } = new URL(url)
  const pairs = new Set<{ inside: Socket; outside: Socket; application: string }>()
  const silent = new Set<Socket>()
  let hasVanished = false
  let doomed: string | null = null
  const server = createServer((inside) => {
    proxy.counts.opened += 1
    inside.on('error', () => {})
    if (hasVanished) return void silent.add(inside)
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
    inside.on('data', (sent) => {
      if (doomed === null || !sent.includes(doomed)) return
      doomed = null
      outside.unpipe(inside)
      outside
        .on('data', (answer) => answer.subarray(-READY.length).equals(READY) && inside.destroy())
        .resume()
    })
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
    vanish() {
      hasVanished = true
      for (const { application } of pairs) proxy.freeze(application)
    },
    loseAnswerTo(text) {
      doomed = text
    },
    async close() {
      server.close()
      for (const { inside, outside } of pairs) {
        inside.destroy()
        outside.destroy()
      }
      for (const socket of silent) socket.destroy()
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
