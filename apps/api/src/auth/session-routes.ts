import { isOncueError, OncueError } from '@oncue/core'
import { signInRequestSchema } from '@oncue/core/wire'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../context.ts'
import { networkOf } from '../http/address.ts'
import { refuseExceeded } from '../http/identify.ts'
import { perform } from '../procedures/procedure.ts'
import { PROCEDURES, SESSION } from '../procedures/table.ts'
import { assertOrigin, endedCookie, isSecure, sessionCookie } from './cookie.ts'
import { ANONYMOUS, type Principal } from './principal.ts'

/** Failed sign-ins per address and minute. */
const MAX_FAILURES = 20

/** For browsers: exchanges a token for a cookie that scripts cannot read. Not in tRPC, which cannot set cookies. */
export function registerSession(app: FastifyInstance, services: Services): void {
  const { auth, failedAttempts, publicUrl, runtime } = services
  const failures = app.createRateLimit({
    max: MAX_FAILURES,
    timeWindow: 60_000,
    keyGenerator: ({ api }) => `sign-in:${networkOf(api.request.ip)}`,
  })
  const reachedBy = ({ protocol, host }: FastifyRequest) => ({ protocol, host, publicUrl })

  /** Another site must not sign a user in to its own account: it would see what the user does. */
  function assertOurPage(request: FastifyRequest): void {
    if (request.headers.origin !== undefined) assertOrigin(request.headers, reachedBy(request))
  }

  app.post('/api/session', async (request, reply) => {
    assertOurPage(request)
    refuseExceeded(await failures(request, { increment: false }), reply)
    const parsed = signInRequestSchema.safeParse(request.body)
    // The value is left out of this error: it may be most of a secret.
    if (!parsed.success) throw new OncueError('INVALID_INPUT', 'The body must be {"token": "oncue_…"}')
    const principal = await auth
      .identify({ authorization: `Bearer ${parsed.data.token}` })
      .catch(async (error) => {
        refuseExceeded(await failures(request), reply)
        await failedAttempts.record({ ...request.api, principal: ANONYMOUS }, 'session.refused', error)
        throw error
      })
    return answerSession(request, reply, principal)
  })

  /** A paired browser gets its session at once, and scripts never see the token. */
  app.post('/api/session/pair', async (request, reply) => {
    assertOurPage(request)
    const { secret } = await perform(
      { ...request.api, denied: undefined },
      PROCEDURES.pairings.exchange,
      request.body,
    )
    return answerSession(request, reply, await auth.identify({ authorization: `Bearer ${secret}` }))
  })

  app.delete('/api/session', async (request, reply) => {
    const { api } = request
    // An ended session counts as signed out; a request from another site does not end one.
    const isEnded = api.denied !== undefined ? isUnauthorized(api.denied) : api.principal.kind === 'anonymous'
    if (!isEnded) await perform(api, SESSION.end, undefined)
    return reply
      .status(204)
      .header('set-cookie', endedCookie(isSecure(reachedBy(request))))
      .send()
  })

  async function answerSession(request: FastifyRequest, reply: FastifyReply, principal: Principal) {
    // The new session replaces the one whose cookie came with the request.
    const api = { ...request.api, denied: undefined }
    const isTls = isSecure(reachedBy(request))
    const before = await auth
      .identify({ cookie: request.headers.cookie, isSecure: isTls })
      .catch(() => ANONYMOUS)
    const { secret, expiresAt } = await perform({ ...api, principal }, SESSION.create, undefined)
    if (before.kind === 'session') await perform({ ...api, principal: before }, SESSION.end, undefined)
    const { name, role } = principal
    return reply
      .status(201)
      .header('set-cookie', sessionCookie(secret, expiresAt.getTime() - runtime.now(), isTls))
      .send({ name, role, expires_at: expiresAt })
  }
}

const isUnauthorized = (error: unknown) => isOncueError(error, 'UNAUTHORIZED')
