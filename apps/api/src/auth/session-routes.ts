import { isOncueError, OncueError, signInRequestSchema } from '@oncue/core'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../context.ts'
import { perform } from '../operation.ts'
import * as pairings from '../operations/pairings.ts'
import * as session from '../operations/session.ts'
import { networkOf } from '../server/address.ts'
import { refuseExceeded } from '../server/identify.ts'
import { assertOrigin, endedCookie, sessionCookie } from './cookie.ts'
import type { Principal } from './principal.ts'

/** Sign-ins of one address that may fail within a minute. */
const MAX_FAILURES = 20

/** For browsers: a token becomes a cookie that no script can read. Not in tRPC, which cannot set cookies. */
export function registerSession(app: FastifyInstance, { auth }: Pick<Services, 'auth'>): void {
  const failures = app.createRateLimit({
    max: MAX_FAILURES,
    timeWindow: 60_000,
    keyGenerator: ({ api }) => `sign-in:${networkOf(api.request.ip)}`,
  })

  app.post('/api/session', async (request, reply) => {
    const { headers, host, body } = request
    // A page elsewhere must not sign somebody in either: what they do then would be seen by another.
    if (headers.origin !== undefined) assertOrigin(headers, host)
    refuseExceeded(await failures(request, { increment: false }), reply)
    const parsed = signInRequestSchema.safeParse(body)
    // Without the value, unlike elsewhere: it may be most of a secret.
    if (!parsed.success) throw new OncueError('INVALID_INPUT', 'The body must be {"token": "oncue_…"}')
    const principal = await auth
      .identify({ authorization: `Bearer ${parsed.data.token}` })
      .catch(async (error) => {
        refuseExceeded(await failures(request), reply)
        throw error
      })
    return answerSession(request, reply, principal)
  })

  /** A browser that is paired gets its session at once, and no script sees the token. */
  app.post('/api/session/pair', async (request, reply) => {
    const { headers, host, body } = request
    if (headers.origin !== undefined) assertOrigin(headers, host)
    const { secret } = await perform({ ...request.api, denied: undefined }, pairings.exchange, body)
    return answerSession(request, reply, await auth.identify({ authorization: `Bearer ${secret}` }))
  })

  app.delete('/api/session', async ({ api, protocol }, reply) => {
    // A session that has ended is as good as signed out; one that another page wants to end is not.
    const isEnded = api.denied !== undefined ? isUnauthorized(api.denied) : api.principal.kind === 'anonymous'
    if (!isEnded) await perform(api, session.end, undefined)
    return reply
      .status(204)
      .header('set-cookie', endedCookie(protocol === 'https'))
      .send()
  })
}

async function answerSession({ api, protocol }: FastifyRequest, reply: FastifyReply, principal: Principal) {
  // Whatever cookie came with the request is the one to be replaced.
  const { secret, expiresAt } = await perform(
    { ...api, principal, denied: undefined },
    session.create,
    undefined,
  )
  const { name, role } = principal
  return reply
    .status(201)
    .header('set-cookie', sessionCookie(secret, expiresAt.getTime() - Date.now(), protocol === 'https'))
    .header('cache-control', 'no-store')
    .send({ name, role, expires_at: expiresAt })
}

const isUnauthorized = (error: unknown) => isOncueError(error, 'UNAUTHORIZED')
