import pg from 'pg'
import { CONNECT_TIMEOUT_MS } from './session.ts'

/** A busy pooler can look like a server for one round; for five in a row it does not. */
const ROUNDS = 5

/**
 * Behind a transaction pooler a session is nobody's own: a lock is lost with the transaction, and
 * LISTEN hears nothing. Told by asking for the backend's number around another client's open
 * transaction: a pooler has handed that one our backend.
 */
export async function isPooled(client: pg.Client, pool: pg.Pool): Promise<boolean> {
  const rounds = introducedAs(client) === (await backendOf(client)) ? 1 : ROUNDS
  for (let n = 1; n <= rounds; n++) if (await changesBackend(client, pool)) return true
  return false
}

/** What a store can say of itself before anybody asks for a session. */
export async function hasSessions(connectionString: string, pool: pg.Pool): Promise<boolean> {
  const first = await pool.connect()
  try {
    if (introducedAs(first) === (await backendOf(first))) return true
  } finally {
    first.release()
  }
  const client = new pg.Client({
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

/** A server introduces itself with the number of the backend; a pooler with a number of its own. */
function introducedAs(client: pg.ClientBase): number | null {
  return (client as unknown as { processID: number | null }).processID
}

/** The process of the server that answers this connection at this moment. */
async function backendOf(client: pg.ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}

/** The same, and whether that server takes writes: one that was the primary before a failover does not. */
export async function serverOf(
  client: pg.ClientBase,
): Promise<{ pid: number; isReadOnly: boolean } | undefined> {
  const { rows } = await client.query<{ pid: number; isReadOnly: boolean }>(
    `select pg_backend_pid() as pid, current_setting('transaction_read_only') = 'on' as "isReadOnly"`,
  )
  return rows[0]
}
