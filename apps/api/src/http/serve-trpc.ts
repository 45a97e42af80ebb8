import { ERRORS, OncueError } from '@oncue/core'
import { fastifyRequestHandler } from '@trpc/server/adapters/fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ApiContext, Services } from '../context.ts'
import { toPublicError } from '../errors.ts'
import { authorize, type Mutation, type Named, perform, type Query } from '../procedures/procedure.ts'
import { BY_PATH } from '../procedures/table.ts'
import { limitBody, readBodies } from './body.ts'
import { answerError, logError } from './errors.ts'
import { appRouter, readInput, toErrorBody, toResultBody } from './trpc.ts'

/** Calls in one request. */
const MAX_CALLS = 50

interface TrpcRoute {
  Params: { path: string }
  Querystring: { batch?: string; input?: string }
}

const METHODS = { mutation: 'POST', query: 'GET', subscription: 'GET' } as const

interface Call {
  readonly path: string
  /** Absent for a subscription. */
  readonly procedure?: Named<Query | Mutation> | undefined
  /** Why the call is refused. */
  readonly refusal?: unknown
}

/** The procedure that tRPC will run, and whether the caller may call it, before any input is read. */
async function callOf(api: ApiContext, path: string, method: string): Promise<Call> {
  const procedure = BY_PATH.get(path)
  if (!procedure)
    return { path, refusal: new OncueError('NOT_FOUND', `No procedure found on path "${path}"`) }
  const { kind } = procedure
  if (METHODS[kind] !== method) {
    const message = `Unsupported ${method}-request to ${kind} procedure at path "${path}"`
    return { path, refusal: new OncueError('METHOD_NOT_ALLOWED', message) }
  }
  // A subscription is refused in its stream: an EventSource tells its page nothing about any other response.
  if (procedure.kind === 'subscription') return { path }
  return authorize(api, procedure.access).then(
    () => ({ path, procedure }),
    (refusal: unknown) => ({ path, refusal }),
  )
}

/**
 * tRPC's adapter creates a Request, a Response and their streams for each call, which takes longer than an enqueue.
 * So a single call, the usual case, is served here with the same response. Batches, subscriptions and unusual
 * requests go to the adapter.
 */
export async function serveTrpc(app: FastifyInstance, { log }: Services): Promise<void> {
  app.setErrorHandler<Error, TrpcRoute>((error, request, reply) => {
    const known = answerError(log, error, request as FastifyRequest, reply)
    return reply.send(toErrorBody(known, request.params.path))
  })
  // Both the adapter and this fast path need the text, so Fastify must not parse it.
  readBodies(app, (_, text, done) => done(null, text))
  app.decorateRequest('calls')

  app.all<TrpcRoute>('/trpc/:path', {
    async onRequest(request, reply) {
      const { api, method, params, query } = request
      if (method === 'HEAD') return
      const paths = query.batch === undefined ? [params.path] : params.path.split(',')
      if (paths.length > MAX_CALLS)
        throw new OncueError('INVALID_INPUT', `A batch has ${paths.length} calls, more than ${MAX_CALLS}`)
      const calls = await Promise.all(paths.map((path) => callOf(api, path, method)))
      const refused = calls.filter(({ refusal }) => refusal !== undefined)
      if (refused.length === calls.length) {
        if (query.batch === undefined) throw calls[0]?.refusal
        const known = refused.map(({ path, refusal }) => {
          logError(log, refusal, request as FastifyRequest)
          return { path, error: toPublicError(refusal, request.id) }
        })
        const statuses = new Set(known.map(({ error }) => ERRORS[error.code].http))
        const [status = 207] = statuses.size === 1 ? statuses : []
        return reply.status(status).send(known.map(({ error, path }) => toErrorBody(error, path)))
      }
      limitBody(
        request as FastifyRequest,
        calls.flatMap(({ procedure }) => procedure ?? []),
      )
      request.calls = calls
    },
    async handler(request, reply) {
      const { path } = request.params
      const [{ procedure } = {}] = request.calls ?? []
      if (procedure && request.query.batch === undefined) {
        // A call without input has an empty body.
        const text = request.method === 'GET' ? request.query.input : (request.body as string) || undefined
        const output = await perform(request.api, procedure, parseInput(text))
        return reply.type('application/json').send(toResultBody(output))
      }
      return fastifyRequestHandler({
        router: appRouter,
        maxBatchSize: MAX_CALLS,
        createContext: () => request.api,
        // In addition to tRPC's own headers for streams.
        responseMeta: () => ({ headers: new Headers({ 'cache-control': 'no-store' }) }),
        onError: ({ error }) => logError(log, error, request as FastifyRequest),
        req: request,
        res: reply,
        // The adapter decodes the path once more, and would find commas that were not counted.
        path: encodeURIComponent(path),
      })
    },
  })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Calls of a tRPC request, in the order of the path. */
    calls: readonly Call[]
  }
}

function parseInput(text: string | undefined): unknown {
  if (text === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new OncueError('INVALID_JSON', `The input is not JSON: ${(cause as Error).message}`, { cause })
  }
  return readInput(value)
}
