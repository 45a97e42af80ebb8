import { ERRORS, OncueError } from '@oncue/core'
import { assertMigrated } from '@oncue/db'
import type { FastifyInstance } from 'fastify'
import type { Services } from '../context.ts'
import { toPublicError } from '../errors.ts'
import { TtlCache } from '../ttl-cache.ts'

/** Probes that come more often share a result. */
const TTL_MS = 1_000

/** Liveness (`healthz`) and readiness (`readyz`). They need no token: they reveal nothing else. */
export function answerProbes(app: FastifyInstance, { store, live, log, runtime }: Services): void {
  /** Null: ready. A failure is cached as well. */
  const results = new TtlCache<{ readonly error: unknown } | null>(TTL_MS, 1, runtime)

  async function check(): Promise<{ readonly error: unknown } | null> {
    try {
      await store.now()
      await assertMigrated(store.url, { schema: store.schema })
      return null
    } catch (error) {
      log.warn({ err: error }, 'not ready')
      return { error }
    }
  }

  app.get('/healthz', async () => ({ status: 'ok' }))

  app.get('/readyz', async (request, reply) => {
    try {
      if (live.closing.aborted) throw new OncueError('STORE_CLOSED', 'The server is stopping')
      const failure = await results.get('', check)
      if (failure) throw failure.error
      return { status: 'ready' }
    } catch (error) {
      const known = toPublicError(error, request.id)
      return reply.status(Math.max(503, ERRORS[known.code].http)).send({ error: known.toJSON() })
    }
  })
}
