import type { FastifyInstance } from 'fastify'
import type { Live } from '../live/live.ts'

/** How long requests may go on: docker kills after ten seconds. */
const GRACE_MS = 7_000
const LOOK_MS = 50

/** Accepts nothing more, ends the streams, lets requests finish, and cuts what is left after seven seconds. */
export async function closeServer(app: FastifyInstance, live: Live, graceMs = GRACE_MS): Promise<void> {
  live.close()
  // A connection that was busy a moment ago stays open otherwise, and would hold the server up.
  const idle = setInterval(() => app.server.closeIdleConnections(), LOOK_MS)
  const cut = setTimeout(() => app.server.closeAllConnections(), graceMs)
  try {
    await app.close()
  } finally {
    clearInterval(idle)
    clearTimeout(cut)
  }
}
