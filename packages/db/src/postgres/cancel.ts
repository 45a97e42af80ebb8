import { connect } from 'node:net'
import type { ClientBase } from 'pg'

/** How long a server has to take the request. One that cannot be reached has nothing to cancel. */
const CONNECT_MS = 5_000
/** The code of a CancelRequest in the protocol of Postgres. */
const CANCEL = 80_877_102

type Backend = { host?: string; port?: number; processID?: number | null; secretKey?: number | null }

/**
 * Ends the statement that a connection waits for, on the server. A backend that waits for a lock does not notice
 * that its client is gone: it would wait on, and count against `max_connections`. To be sent before the connection
 * is closed, because a pooler forgets it then. Resolves when the server has taken the request; never rejects.
 */
export function cancelStatement(client: ClientBase): Promise<void> {
  const { host, port, processID, secretKey } = client as ClientBase & Backend
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
    // The server answers nothing; it closes the connection.
    socket.resume()
    socket.end(request)
  })
}
