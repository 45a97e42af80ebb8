import { connect } from 'node:net'
import { withTimeout } from '@oncue/runtime'
import pg from 'pg'
import { DEFAULT_SCHEMA, renameTo } from '../schema.ts'

/** Timeout for opening a connection and for waiting for a pooled one. */
export const CONNECT_TIMEOUT_MS = 10_000

/**
 * Sets UTC, ISO dates, read committed and a search path of Postgres' own functions, whatever the server, the
 * database or the role set: dates in another style cannot be parsed, the locking of our functions relies on
 * read committed, and another role may have put a function of its own where ours would find it. It is a statement
 * and not startup parameters, because poolers refuse or ignore those.
 *
 * PgBouncer tracks TimeZone and DateStyle, and sets them on each server connection that it hands us. It does
 * not track the others: set through it, they would stay behind for other clients. So they are set only on a
 * direct connection, which is recognised by the pid of its backend; elsewhere our functions set their own search
 * path, and refuse another isolation (SQLSTATE OC003).
 */
export async function prepareSession(client: pg.ClientBase): Promise<void> {
  const { processID } = client as unknown as { processID: number | null }
  await client.query({
    text: `select set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO', false),
      case when pg_backend_pid() = ${Number(processID)} then
        set_config('default_transaction_isolation', 'read committed', false) || set_config('extra_float_digits', '1', false)
          || set_config('search_path', 'pg_catalog, pg_temp', false)
      end`,
    query_timeout: CONNECT_TIMEOUT_MS,
  } as pg.QueryConfig)
}

/** Connections whose statements use another schema, for those that do not go through PostgresClient. */
export function clientFor(schema: string): typeof pg.Client {
  if (schema === DEFAULT_SCHEMA) return pg.Client
  const rename = renameTo(schema, 'postgres')
  return class extends pg.Client {
    override query(query: never, ...rest: never[]) {
      const given = query as string | { readonly text: string }
      const renamed = typeof given === 'string' ? rename(given) : { ...given, text: rename(given.text) }
      return super.query(renamed as never, ...rest)
    }
  } as typeof pg.Client
}

/** How long to wait for the end of a statement that was cancelled. A server that does not reply is left. */
const ABANDON_MS = 1_000

/**
 * Connections that are given up at once when the signal is aborted, also while they are being opened. Statements are
 * cancelled on the server, where they would otherwise go on waiting for a lock. Their end is awaited: a caller must know
 * whether a write happened.
 */
export function abandonable(Client: typeof pg.Client, signal: AbortSignal | undefined): typeof pg.Client {
  if (!signal) return Client
  const open = new Set<pg.Client>()
  signal.addEventListener('abort', () => {
    for (const client of open) void abandon(client)
  })
  return class extends Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      open.add(this)
      this.once('end', () => open.delete(this))
    }

    override connect(callback?: unknown) {
      const connecting = super.connect(callback as never)
      // A pool opens another connection for waiting callers when one is lost.
      if (signal.aborted) streamOf(this).destroy()
      return connecting as unknown as Promise<pg.Client>
    }
  }
}

async function abandon(client: pg.Client): Promise<void> {
  const { readyForQuery } = client as unknown as { readyForQuery: boolean }
  if (introducedAs(client) !== null && !readyForQuery) {
    const idle = new Promise<void>((resolve) => client.once('drain', resolve).once('end', resolve))
    const cancelled = cancelStatement(client).then(() => idle)
    await withTimeout(cancelled, ABANDON_MS, () => undefined)
  }
  streamOf(client).destroy()
}

/** The driver ends a connection with a message to the server, which a half-open one does not deliver. */
export function streamOf(client: pg.ClientBase): { destroy(): void } {
  return (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream
}

/** For a statement that the server's catalogs wrote: it already has the names of this installation. */
export async function queryAsIs(client: pg.Client, text: string): Promise<void> {
  await Reflect.apply(pg.Client.prototype.query, client, [text])
}

/** A busy pooler can look like a server once, but not five times in a row. */
const ROUNDS = 5

/**
 * Behind a transaction pooler no client owns a session: a lock is lost with the transaction, and
 * LISTEN receives nothing. Detected by comparing our backend's pid before and during another client's open
 * transaction: a pooler has given our backend to that one.
 */
export async function isPooled(client: pg.Client, pool: pg.Pool): Promise<boolean> {
  const rounds = introducedAs(client) === (await backendOf(client)) ? 1 : ROUNDS
  for (let n = 1; n <= rounds; n++) if (await changesBackend(client, pool)) return true
  return false
}

/** The session of a store before it was checked. */
export async function hasSessions(
  connectionString: string,
  pool: pg.Pool,
  Client = pg.Client,
): Promise<boolean> {
  const first = await pool.connect()
  try {
    if (introducedAs(first) === (await backendOf(first))) return true
  } finally {
    first.release()
  }
  const client = new Client({
    connectionString,
    application_name: 'oncue probe',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
  })
  client.on('error', () => {})
  await client.connect()
  try {
    return !(await isPooled(client, pool))
  } finally {
    await client.end()
  }
}

async function changesBackend(client: pg.Client, pool: pg.Pool): Promise<boolean> {
  const before = await backendOf(client)
  const other = await pool.connect()
  try {
    await other.query('begin')
    const theirs = await backendOf(other)
    const after = await backendOf(client)
    return before !== after || theirs === before
  } finally {
    await other.query('rollback').catch(() => {})
    other.release()
  }
}

/** A server introduces itself with the pid of the backend; a pooler with a number of its own. */
function introducedAs(client: pg.ClientBase): number | null {
  return (client as unknown as { processID: number | null }).processID
}

/** The backend process that serves this connection at this moment. */
async function backendOf(client: pg.ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}

/** The same, and whether that server accepts writes: the old primary does not after a failover. */
export async function serverOf(
  client: pg.ClientBase,
): Promise<{ pid: number; isReadOnly: boolean } | undefined> {
  const { rows } = await client.query<{ pid: number; isReadOnly: boolean }>(
    `select pg_backend_pid() as pid, current_setting('transaction_read_only') = 'on' as "isReadOnly"`,
  )
  return rows[0]
}

/** How long a server has to take the request. One that cannot be reached has nothing to cancel. */
const CONNECT_MS = 5_000
/** The code of a CancelRequest in the protocol of Postgres. */
const CANCEL = 80_877_102

type Backend = { host?: string; port?: number; processID?: number | null; secretKey?: number | null }

/**
 * Cancels the statement that a connection waits for, on the server. A backend that waits for a lock does not notice
 * that its client is gone: it would keep waiting, and count against `max_connections`. To be sent before the
 * connection is closed, because a pooler forgets it then. Resolves when the server has received the request; never
 * rejects.
 */
export function cancelStatement(client: pg.ClientBase): Promise<void> {
  const { host, port, processID, secretKey } = client as pg.ClientBase & Backend
  if (!host || !port || !processID || typeof secretKey !== 'number') return Promise.resolve()
  const request = Buffer.alloc(16)
  request.writeInt32BE(request.length, 0)
  request.writeInt32BE(CANCEL, 4)
  request.writeInt32BE(processID, 8)
  request.writeInt32BE(secretKey, 12)
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  return new Promise((resolve) => {
    socket.setTimeout(CONNECT_MS, () => socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    // The server sends no reply; it closes the connection.
    socket.resume()
    socket.end(request)
  })
}
