import { ERRORS, OncueError } from '@oncue/core'
import { assertMigrated } from '@oncue/db'
import type { FastifyInstance } from 'fastify'
import type { Services } from '../context.ts'
import { toPublicError } from '../errors.ts'

/** Whoever asks more often gets the last answer. */
const KEEP_MS = 1_000

/** For whoever restarts processes (`healthz`) and whoever sends them requests (`readyz`). Open to all: they tell nothing else. */
export function answerProbes(app: FastifyInstance, { store, live, log }: Services): void {
  let last: { readonly until: number; readonly ready: Promise<void> } | undefined

  function ready(): Promise<void> {
    if (!last || last.until < performance.now()) {
      last = { until: performance.now() + KEEP_MS, ready: check() }
      last.ready.catch((error: unknown) => log.warn({ err: error }, 'not ready'))
    }
    return last.ready
  }

  async function check(): Promise<void> {
    await store.now()
    await assertMigrated(store.url, { schema: store.schema })
  }

  app.get('/healthz', async () => ({ status: 'ok' }))

  app.get('/readyz', async (request, reply) => {
    try {
      if (live.closing.aborted) throw new OncueError('STORE_CLOSED', 'The server stops')
      await ready()
      return { status: 'ready' }
    } catch (error) {
      const known = toPublicError(error, request.id)
      return reply.status(Math.max(503, ERRORS[known.code].http)).send({ error: known.toJSON() })
    }
  })
}
