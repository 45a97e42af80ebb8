import cors from '@fastify/cors'
import rateLimit from '@fastify/rate-limit'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { registerSession, type SessionOptions } from '../auth/session-routes.ts'
import type { Services } from '../context.ts'
import { serveMetrics } from '../health/metrics.ts'
import { readBodies } from './body.ts'
import { answerClientError, answerError } from './errors.ts'
import { refuseStrangers } from './host-caller.ts'
import { identifyRequests, type RateLimits } from './identify.ts'
import { answerProbes } from './probes.ts'
import { registerRest } from './rest/index.ts'
import { MOUNTED_HEADERS, SECURITY_HEADERS } from './security-headers.ts'
import { serveTrpc } from './serve-trpc.ts'
import { serveApp } from './static-app.ts'

export interface ServerOptions extends SessionOptions {
  /** The folder of the app's web build; it may be missing. */
  readonly appDir: string
  /** Pages of these origins may call the API. */
  readonly corsOrigins: readonly string[]
  /** The number of proxies, or their addresses. */
  readonly trustProxy: number | string[] | false
  /** How many requests a token and an address may send. */
  readonly limits: RateLimits
  /** Where another server has mounted this one, as in `/admin/jobs`. Absent: it has a server of its own, at the root. */
  readonly basePath?: string | undefined
}

/** How long a request may take to arrive. */
const REQUEST_MS = 60_000
/** Longer than proxies keep theirs, or they would send requests into connections that are being closed. */
const KEEP_ALIVE_MS = 75_000
/** A caller's request id is kept if it is harmless in a log and a header. */
const SAFE_ID = /^[\w.:/+=-]{1,128}$/
/** A batch names all its calls in the path. */
const MAX_PATH = 5_000

/** Everything but listening. */
export async function createServer(services: Services, options: ServerOptions): Promise<FastifyInstance> {
  const sendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    reply.send({ error: answerError(services.log, error, request, reply).toJSON() })
  const { trustProxy, basePath } = options
  const headers = basePath === undefined ? SECURITY_HEADERS : MOUNTED_HEADERS
  const app = fastify({
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    trustProxy: typeof trustProxy === 'number' ? (_, hop) => hop < trustProxy : trustProxy,
    genReqId: ({ headers: { 'x-request-id': given } }) =>
      typeof given === 'string' && SAFE_ID.test(given) ? given : services.runtime.uuid(),
    // A path that cannot be decoded has no route, and so no error handler.
    frameworkErrors: (error, request, reply) =>
      void sendError(error, request as FastifyRequest, reply as FastifyReply),
    clientErrorHandler: answerClientError,
    routerOptions: { maxParamLength: MAX_PATH },
  })
  app.setErrorHandler(sendError)
  // Requests without a route are refused before their body is read.
  app.removeAllContentTypeParsers()
  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(headers).header('x-request-id', request.id)
    done()
  })
  if (basePath !== undefined) refuseStrangers(app)
  if (options.corsOrigins.length > 0)
    await app.register(cors, {
      origin: [...options.corsOrigins],
      methods: ['GET', 'HEAD', 'POST', 'DELETE'],
      exposedHeaders: ['x-request-id', 'retry-after'],
    })
  await app.register(rateLimit, { global: false })

  answerProbes(app, services)
  await app.register(async (scope) => {
    identifyRequests(scope, services, options.limits, basePath !== undefined)
    const parse = scope.getDefaultJsonParser('error', 'error')
    // Many clients always send the header, also without a body.
    readBodies(scope, (request, text, done) => (text === '' ? done(null) : parse(request, text, done)))
    serveMetrics(scope, services)
    // The host application signs people in and out.
    if (basePath === undefined) registerSession(scope, services, options)
    await registerRest(scope, services, basePath)
    await scope.register(serveTrpc, services)
  })
  await serveApp(app, options.appDir, basePath)
  return app
}
