import { OncueError } from '@oncue/core'
import { fastifyRequestHandler } from '@trpc/server/adapters/fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Services } from '../context.ts'
import { type Operation, perform } from '../operation.ts'
import { appRouter } from '../routers/index.ts'
import { readInput, toErrorBody, toResultBody } from '../trpc.ts'
import { answerError, logError } from './errors.ts'

/** Calls in one request. */
const MAX_CALLS = 50

interface TrpcRoute {
  Params: { path: string }
  Querystring: { batch?: string; input?: string }
}

/** By path. tRPC keeps this table, and calls its types nested. */
const PROCEDURES = appRouter._def.procedures as unknown as Readonly<
  Record<string, { _def: { type: string; meta?: { operation?: Operation } } }>
>
const METHODS: Readonly<Record<string, string>> = { mutation: 'POST', query: 'GET' }

/** The operation of a procedure that is called the right way. */
function operationOf(path: string, method: string): Operation | undefined {
  const { type = '', meta } = Object.hasOwn(PROCEDURES, path) ? (PROCEDURES[path]?._def ?? {}) : {}
  return METHODS[type] === method ? meta?.operation : undefined
}

/**
 * tRPC's adapter makes a Request, a Response and their streams for each call, which takes longer than an enqueue.
 * So a single call, as most are, is answered here in the same words. Batches, subscriptions and whatever is odd
 * go to the adapter.
 */
export async function serveTrpc(app: FastifyInstance, { log }: Services): Promise<void> {
  app.setErrorHandler<Error, TrpcRoute>((error, request, reply) => {
    const known = answerError(log, error, request as FastifyRequest, reply)
    return reply.send(toErrorBody(known, request.params.path))
  })
  // The adapter reads the text, and so do we: what is in it is no business of fastify's.
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body))

  app.all<TrpcRoute>('/trpc/:path', async (request, reply) => {
    const { path } = request.params
    const operation = operationOf(path, request.method)
    if (operation && request.query.batch === undefined) {
      // A call without input has an empty body.
      const text = request.method === 'GET' ? request.query.input : (request.body as string) || undefined
      const output = await perform(request.api, operation, parseInput(text))
      return reply.type('application/json').send(toResultBody(output))
    }
    return fastifyRequestHandler({
      router: appRouter,
      maxBatchSize: MAX_CALLS,
      createContext: () => request.api,
      onError: ({ error }) => logError(log, error, request as FastifyRequest),
      req: request,
      res: reply,
      path,
    })
  })
}

function parseInput(text: string | undefined): unknown {
  if (text === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new OncueError('INVALID_JSON', `The input is no JSON: ${(cause as Error).message}`, { cause })
  }
  return readInput(value)
}
