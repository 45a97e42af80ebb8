import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { Gate } from './gate.ts'

/** Every reply of Postgres ends with ReadyForQuery: this, and one byte for the state of the transaction. */
const READY = Buffer.from('Z\0\0\0\x05', 'latin1')

export interface RelayOptions {
  /** Called for each connection; gets what its client sends. */
  readonly listen?: () => (chunk: Buffer) => void
}

/** A network between clients and a server, which a test can break in any way. */
export class Relay {
  /** The address of the server, with the relay's port. */
  readonly url: string
  /** Connections that clients opened, and those that got `refusal`. */
  readonly counts = { opened: 0, refused: 0 }
  /** Where new connections go. Null: they are closed at once. */
  target: string | null
  /** New connections get this in reply to their first message, and are closed. */
  refusal: Buffer | undefined
  /**
   * The next connection on which this text is sent breaks after the server has replied and before the client
   * gets the reply.
   */
  loseAnswerTo: string | undefined
  readonly #connected = new Gate<void>()
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  readonly #silent = new Set<Socket>()
  readonly #options: RelayOptions
  #hasVanished = false

  static async start(target: string, options: RelayOptions = {}): Promise<Relay> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Relay(target, server, options)
  }

  private constructor(target: string, server: Server, options: RelayOptions) {
    this.target = target
    this.#server = server
    this.#options = options
    const url = new URL(target)
    url.hostname = '127.0.0.1'
    url.port = String((server.address() as AddressInfo).port)
    this.url = url.href.replace(/\/$/, '')
    server.on('connection', (client) => this.#accept(client))
  }

  /** Resolves when a client has connected. */
  get connected(): Promise<void> {
    return this.#connected.opened
  }

  /** Breaks all connections. */
  cut(): void {
    for (const { client } of this.#pairs) client.destroy()
  }

  /** Keeps connections of this application open, but lets nothing through any more. Returns how many. */
  freeze(application?: string): number {
    const frozen = [...this.#pairs].filter((pair) => [undefined, pair.application].includes(application))
    for (const { client, server } of frozen) {
      client.unpipe().pause()
      server.unpipe().pause()
    }
    return frozen.length
  }

  /** Freezes all connections; new ones are accepted and get no reply. */
  vanish(): void {
    this.#hasVanished = true
    this.freeze()
  }

  async close(): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, 'close') : undefined
    this.#server.close()
    this.cut()
    for (const socket of this.#silent) socket.destroy()
    await closed
  }

  #accept(client: Socket): void {
    this.counts.opened += 1
    this.#connected.open()
    client.on('error', () => {})
    if (this.#hasVanished) this.#silent.add(client)
    else if (this.target === null) client.destroy()
    else if (this.refusal === undefined) this.#join(client, new URL(this.target))
    else this.#refuse(client, this.refusal)
  }

  #refuse(client: Socket, refusal: Buffer): void {
    this.counts.refused += 1
    client.once('data', () => client.end(refusal))
  }

  #join(client: Socket, { port, hostname }: URL): void {
    const server = connect(Number(port), hostname)
    const pair: Pair = { client, server, application: '' }
    this.#pairs.add(pair)
    client.once('data', (startup) => {
      // The first message to Postgres names the application.
      pair.application = /application_name\0([^\0]*)\0/.exec(startup.toString('latin1'))?.[1] ?? ''
    })
    client.on('data', this.#options.listen?.() ?? (() => {}))
    client.on('data', (sent) => {
      if (this.loseAnswerTo === undefined || !sent.includes(this.loseAnswerTo)) return
      this.loseAnswerTo = undefined
      server.unpipe(client)
      server
        .on('data', (reply) => reply.subarray(-READY.length - 1, -1).equals(READY) && client.destroy())
        .resume()
    })
    const end = () => {
      this.#pairs.delete(pair)
      client.destroy()
      server.destroy()
    }
    server.on('error', () => {})
    for (const socket of [client, server]) socket.once('close', end)
    client.pipe(server)
    server.pipe(client)
  }
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  application: string
}
