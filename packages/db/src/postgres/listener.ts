import { Socket } from 'node:net'
import { OncueError } from '@oncue/core'
import { backoff, type Runtime, systemRuntime, type Timer, withTimeout } from '@oncue/runtime'
import pg from 'pg'
import { DEFAULT_SCHEMA } from '../schema.ts'
import type { Subscription } from '../store.ts'
import { CONNECT_TIMEOUT_MS, isPooled, serverOf } from './session.ts'

/** `oncue`: a queue's name. `oncue.events`: a job's id. */
export type Channel = 'oncue' | 'oncue.events' | 'oncue.signals'

/** Null: notifications may have been missed. */
export type Hear = (payload: string | null) => void
type Hearer = { readonly hear: Hear }
type Connection = {
  readonly client: pg.Client
  readonly since: number
  backend: number | undefined
  /** The channels that it listens to, or is about to. */
  readonly channels: Map<Channel, Promise<unknown>>
  /** One statement at a time: pg warns of a client that is given more. */
  inTurn<T>(send: () => Promise<T>): Promise<T>
  destroy(): void
}

const PING_MS = 10_000
const RECONNECT = { firstMs: 25, maxMs: 1_000 }
const GOODBYE_MS = 500
/** The first words of a notification that a listener sends to itself; no queue can have this name. */
const PROBE = ':probe '
const PROBE_MS = 5_000
/** The kernel checks a silent connection after this long, which also keeps it open in routers. */
export const KEEP_ALIVE_MS = 30_000

type ListenerOptions = {
  readonly connectionString: string
  /** To detect a pooler. */
  readonly pool: pg.Pool
  readonly Client?: typeof pg.Client | undefined
  readonly schema?: string | undefined
  /** How often a silent connection is pinged, and the timeout of a ping. */
  readonly pingMs?: number | undefined
  readonly runtime?: Runtime | undefined
}

/**
 * One listening connection for the whole store, opened by the first subscriber. It reconnects by
 * itself, and then tells all subscribers to poll, because notifications may have been missed.
 * Nothing it does can fail a caller: a wake-up is only a hint, and callers poll as well.
 */
export class PostgresListener {
  readonly #options: ListenerOptions
  readonly #runtime: Runtime
  readonly #pingMs: number
  readonly #hearers: Record<Channel, Set<Hearer>> = {
    oncue: new Set(),
    'oncue.events': new Set(),
    'oncue.signals': new Set(),
  }
  #connection: Connection | undefined
  #connecting: Promise<void> | undefined
  #retry: Timer | undefined
  #ping: Timer | undefined
  #attempt = 0
  readonly #probes = new Map<string, () => void>()
  #pooled: boolean | undefined
  #closed = false

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#pingMs = options.pingMs ?? PING_MS
    this.#runtime = options.runtime ?? systemRuntime
  }

  onWake(queues: readonly string[], wake: () => void): Promise<Subscription> {
    const wanted = new Set(queues)
    return this.subscribe('oncue', (queue) => {
      if (queue === null || wanted.has(queue)) wake()
    })
  }

  /**
   * Resolves when notifications sent from now on will be received; also when they will not be, because the
   * database is down (then they are received later) or behind a transaction pooler (then never).
   */
  async subscribe(channel: Channel, hear: Hear): Promise<Subscription> {
    if (this.#closed) throw new OncueError('STORE_CLOSED', 'This store was closed')
    const hearer = { hear }
    this.#hearers[channel].add(hearer)
    if (!this.#retry) await this.#connect()
    if (this.#connection) await this.#listen(this.#connection, channel)
    return {
      close: async () => {
        if (this.#hearers[channel].delete(hearer) && this.#hearers[channel].size === 0)
          this.#unlisten(channel)
      },
    }
  }

  /** Checks at once, and not only at the next ping, whether the connection still works. */
  check(): void {
    if (this.#connection && !this.#connecting) void this.#check(this.#connection)
  }

  /**
   * Whether notifications arrive: `send` notifies the queues of this name, and this connection must hear it. It shows that both
   * talk to the same server, too.
   */
  async hearsItself(send: (name: string) => Promise<unknown>): Promise<boolean> {
    if (!this.#connection?.channels.has('oncue') || this.#connecting) return false
    const name = `${PROBE}${this.#runtime.uuid()}`
    const heard = new Promise<boolean>((resolve) => this.#probes.set(name, () => resolve(true)))
    try {
      await send(name)
      return await withTimeout(heard, PROBE_MS, () => false, this.#runtime)
    } finally {
      this.#probes.delete(name)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#runtime.cancel(this.#retry)
    this.#runtime.cancel(this.#ping)
    const connection = this.#connection
    // A connection that is being opened is destroyed: after `end()` pg would never settle its `connect()`.
    if (this.#connecting) {
      connection?.destroy()
      return this.#connecting
    }
    if (!connection) return
    // A half-open connection would never close in reply.
    const ending = connection.client.end().catch(() => {})
    const cut = () => {
      connection.destroy()
      return ending
    }
    await withTimeout(ending, GOODBYE_MS, cut, this.#runtime)
  }

  #connect(): Promise<void> {
    if (this.#connecting) return this.#connecting
    if (this.#connection || this.#pooled || this.#closed) return Promise.resolve()
    this.#connecting = this.#open()
      .catch(() => this.#reconnect())
      .finally(() => {
        this.#connecting = undefined
      })
    return this.#connecting
  }

  async #open(): Promise<void> {
    const socket = new Socket()
    const { Client = pg.Client } = this.#options
    const client = new Client({
      connectionString: this.#options.connectionString,
      application_name: 'oncue listener',
      stream: () => socket,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: this.#pingMs,
    })
    client.on('error', () => {})
    client.on('notification', ({ channel: name, payload = '' }) => {
      if (payload.startsWith(PROBE)) this.#probes.get(payload)?.()
      else for (const channel of CHANNELS) if (this.#nameOf(channel) === name) this.#tell(channel, payload)
    })
    let last: Promise<unknown> = Promise.resolve()
    const connection: Connection = {
      client,
      since: this.#runtime.monotonic(),
      backend: undefined,
      channels: new Map(),
      inTurn(send) {
        const sent = last.then(send)
        last = sent.catch(() => {})
        return sent
      },
      destroy: () => socket.destroy(),
    }
    this.#connection = connection
    try {
      await client.connect()
      this.#pooled ??= await isPooled(client, this.#options.pool)
      if (this.#pooled) {
        this.#connection = undefined
        await client.end()
        return
      }
      const server = await serverOf(client)
      if (server?.isReadOnly)
        throw new Error('The server is read-only: notifications are sent on the primary')
      connection.backend = server?.pid
      for (const channel of CHANNELS) {
        if (this.#hearers[channel].size > 0) await this.#listen(connection, channel)
      }
      if (socket.destroyed || this.#closed) throw new Error('The connection closed while it was being opened')
    } catch (error) {
      this.#connection = undefined
      socket.destroy()
      throw error
    }
    client.once('end', () => this.#lost(connection))
    this.#ping = this.#runtime.every(this.#pingMs, () => void this.#check(connection))
    this.#ping.unref()
    for (const channel of CHANNELS) this.#tell(channel, null)
  }

  async #listen(connection: Connection, channel: Channel): Promise<void> {
    const listening =
      connection.channels.get(channel) ??
      connection.inTurn(() => connection.client.query(`listen ${pg.escapeIdentifier(this.#nameOf(channel))}`))
    connection.channels.set(channel, listening)
    await listening.catch(() => connection.destroy())
  }

  #unlisten(channel: Channel): void {
    const connection = this.#connection
    if (this.#closed || !connection?.channels.delete(channel)) return
    connection
      .inTurn(() => connection.client.query(`unlisten ${pg.escapeIdentifier(this.#nameOf(channel))}`))
      .catch(() => connection.destroy())
  }

  #nameOf(channel: Channel): string {
    return channel.replace(DEFAULT_SCHEMA, this.#options.schema ?? DEFAULT_SCHEMA)
  }

  /** A ping finds a connection that died silently (a cable, a firewall), or whose server was demoted. */
  async #check(connection: Connection): Promise<void> {
    const server = await connection.inTurn(() => serverOf(connection.client)).catch(() => undefined)
    if (server?.pid === connection.backend && !server?.isReadOnly) return
    // Another backend replies: there is a pooler after all, which was not detected while it was busy.
    if (server && server.pid !== connection.backend) this.#pooled = true
    connection.destroy()
  }

  #lost(connection: Connection): void {
    this.#runtime.cancel(this.#ping)
    this.#connection = undefined
    // A connection that ends as soon as it is opened counts as a failed attempt.
    if (this.#runtime.monotonic() - connection.since > RECONNECT.maxMs) this.#attempt = 0
    this.#reconnect()
  }

  #reconnect(): void {
    if (this.#closed || this.#pooled || CHANNELS.every((channel) => this.#hearers[channel].size === 0)) return
    this.#retry = this.#runtime.after(backoff(this.#attempt++, RECONNECT, this.#runtime), () => {
      this.#retry = undefined
      void this.#connect()
    })
    this.#retry.unref()
  }

  #tell(channel: Channel, payload: string | null): void {
    for (const { hear } of [...(this.#hearers[channel] ?? [])]) {
      try {
        hear(payload)
      } catch {
        // A subscriber that throws must not keep the others from being notified.
      }
    }
  }
}

const CHANNELS = ['oncue', 'oncue.events', 'oncue.signals'] as const satisfies Channel[]
