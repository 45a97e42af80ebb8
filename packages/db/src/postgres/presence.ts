import { Loop, type Runtime } from '@oncue/runtime'
import type pg from 'pg'
import type { Presence, WorkerInfo } from '../store.ts'
import { KEEP_ALIVE_MS } from './listener.ts'
import { CONNECT_TIMEOUT_MS, cancelStatement, isPooled, prepareSession, serverOf } from './session.ts'
import type { Query } from './sql.ts'

const PING_MS = 10_000
/** Fast enough to keep its runs: presence has to be gone for about a second before they are freed. */
const RECONNECT = { firstMs: 50, maxMs: 1_000 }

type Options = {
  readonly connectionString: string
  readonly worker: WorkerInfo
  /** The statement that writes the worker's row once the lock of this key is held. */
  readonly row: (presence: string | null) => Query
  readonly pool: pg.Pool
  readonly Client: typeof pg.Client
  readonly runtime: Runtime
  /** Called when the connection is lost. */
  readonly onLost: () => void
}

export type PostgresPresence = Presence & {
  /** Checks at once whether it still holds. */
  check(): void
  /** Resolves when a connection that is known to be lost was replaced, or could not be. */
  restore(): Promise<void>
}

/**
 * A connection of its own that holds an advisory lock for as long as the process lives. Postgres
 * releases it the moment the connection ends, and every worker can see that. The key is new
 * for each connection: a lock that an old, half-dead session still holds means nothing.
 */
export async function attend(options: Options, leave: () => Promise<void>): Promise<PostgresPresence> {
  const { runtime } = options
  let left = false
  let connection: pg.Client | undefined
  let connecting: Promise<boolean> | undefined
  const reconnecting = new Loop({
    what: 'reconnecting presence',
    runtime,
    backoff: RECONNECT,
    keepsAlive: true,
    async work() {
      await restore()
      return Number.POSITIVE_INFINITY
    },
  })

  async function restore(): Promise<void> {
    if (connection || left) return
    connecting ??= connect(false).finally(() => {
      connecting = undefined
    })
    await connecting
  }

  async function connect(isFirst: boolean): Promise<boolean> {
    const client = new options.Client({
      connectionString: options.connectionString,
      application_name: `oncue presence ${options.worker.id}`,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: PING_MS,
    })
    client.on('error', () => {})
    await client.connect()
    try {
      await prepareSession(client)
      if (isFirst && (await isPooled(client, options.pool))) {
        await client.query(options.row(null))
        await client.end()
        return false
      }
      const key = Buffer.from(runtime.bytes(8)).readBigUInt64BE() >> 2n
      await client.query('select pg_advisory_lock($1)', [String(key)])
      await client.query(options.row(String(key)))
    } catch (error) {
      // It may wait for a lock, and a backend that does keeps waiting when its client has gone.
      await cancelStatement(client)
      await client.end().catch(() => {})
      throw error
    }
    if (left) {
      // The worker left while this connection was being opened.
      await leave()
      await client.end()
      return false
    }
    connection = client
    client.once('end', () => {
      connection = undefined
      options.onLost()
      // By the runtime: a store that is paused must not wake a database that went to sleep.
      runtime.after(0, () => {
        if (left) return
        reconnecting.start()
        reconnecting.wake()
      })
    })
    return true
  }

  const visible = await connect(true)
  // A ping finds a connection that died silently (a cable, a firewall), or whose server was demoted.
  const check = async (): Promise<void> => {
    const client = connection
    if (!client) return
    const server = await serverOf(client).catch(() => undefined)
    if (!server || server.isReadOnly) await client.end()
  }
  const ping = runtime.every(PING_MS, () => void check())
  ping.unref()

  return {
    visible,
    check,
    restore: () => restore().catch(() => {}),
    async leave() {
      if (left) return
      left = true
      runtime.cancel(ping)
      void reconnecting.stop()
      await leave()
      await connection?.end().catch(() => {})
    },
  }
}
