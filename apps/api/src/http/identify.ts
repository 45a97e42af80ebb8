import { OncueError } from '@oncue/core'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { assertOrigin, isSecure } from '../auth/cookie.ts'
import { ANONYMOUS, type Principal } from '../auth/principal.ts'
import type { ApiContext, Services } from '../context.ts'
import { addressOf, networkOf } from './address.ts'
import { SIGN_IN_BYTES } from './body.ts'
import { hostCaller } from './host-caller.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, and the services that procedures need. */
    api: ApiContext
  }
}

export interface RateLimits {
  /** Requests a minute. */
  readonly perToken: number
  readonly perAddress: number
}

const MINUTE_MS = 60_000

/**
 * Identifies the caller of each request in this scope, and applies rate limits: by token for callers with a valid one,
 * by address for all others, so that a flood from an address does not lock out callers there who have a token. Bad
 * credentials are reported by the procedure (`denied`), because tRPC and REST report errors differently.
 */
export function identifyRequests(
  app: FastifyInstance,
  services: Services,
  limits: RateLimits,
  isMounted: boolean,
): void {
  const byAddress = app.createRateLimit({
    max: limits.perAddress,
    timeWindow: MINUTE_MS,
    keyGenerator: ({ api }) => networkOf(api.request.ip),
  })
  const byPrincipal = app.createRateLimit({
    max: limits.perToken,
    timeWindow: MINUTE_MS,
    keyGenerator: ({ api: { principal } }) => `${principal.kind}:${principal.id}`,
  })

  app.decorateRequest('api')
  app.decorateRequest('maxBody', SIGN_IN_BYTES)
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('cache-control', 'no-store')
    const { principal, denied } = isMounted ? identifyHost() : await identify(services, request)
    request.api = { ...services, principal, denied, request: describe(request, reply) }
    const isKnown = principal.kind !== 'anonymous'
    for (let calls = callsOf(request); calls > 0; calls--)
      refuseExceeded(await (isKnown ? byPrincipal(request) : byAddress(request)), reply)
  })
}

/** A batch of tRPC names all its calls in its parameter `path`, which the router has decoded. */
function callsOf({ params }: FastifyRequest): number {
  const { path } = params as { path?: unknown }
  return typeof path === 'string' ? path.split(',').length : 1
}

/** Written out, because published declarations lack what a plugin adds to Fastify. */
type Count =
  | { readonly isAllowed: true }
  | {
      readonly isAllowed: false
      readonly isExceeded: boolean
      readonly max: number
      readonly ttlInSeconds: number
    }

export function refuseExceeded(count: Count, reply: FastifyReply): void {
  if (count.isAllowed || !count.isExceeded) return
  void reply.header('retry-after', count.ttlInSeconds)
  throw new OncueError('RATE_LIMITED', `More than ${count.max} requests within a minute`, {
    details: { retryAfterSeconds: count.ttlInSeconds },
  })
}

/** The host application has identified the caller of this request; Oncue's own tokens and sessions do not count. */
function identifyHost(): { principal: Principal; denied?: unknown } {
  return (
    hostCaller.getStore() ?? { principal: ANONYMOUS, denied: new OncueError('UNAUTHORIZED', 'Not signed in') }
  )
}

async function identify(
  { auth, publicUrl }: Services,
  { headers, method, host, protocol }: FastifyRequest,
): Promise<{ principal: Principal; denied?: unknown }> {
  const { authorization, cookie } = headers
  const reached = { host, protocol, publicUrl }
  try {
    const principal = await auth.identify({ authorization, cookie, isSecure: isSecure(reached) })
    if (principal.kind === 'session' && method !== 'GET' && method !== 'HEAD') assertOrigin(headers, reached)
    return { principal }
  } catch (denied) {
    return { principal: ANONYMOUS, denied }
  }
}

function describe(request: FastifyRequest, { raw: response }: FastifyReply): ApiContext['request'] {
  const { id, headers, protocol, host, raw } = request
  const { gone } = hostCaller.getStore() ?? {}
  const isGone = () => raw.socket.destroyed || gone?.aborted === true
  let leaving: AbortController | undefined
  return {
    id,
    ip: addressOf(request),
    userAgent: headers['user-agent'] ?? '',
    origin: `${protocol}://${host}`,
    isGone,
    // Only where it is needed, and once for all calls of a batch.
    gone() {
      if (leaving) return leaving.signal
      const left = new AbortController()
      leaving = left
      if (isGone() || response.destroyed) left.abort()
      response.once('close', () => left.abort())
      gone?.addEventListener('abort', () => left.abort(), { once: true })
      return left.signal
    },
  }
}
