import { ERRORS, isOncueError, OncueError } from '@oncue/core'
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

export interface SessionOptions {
  /** Serves links that sign a browser of this machine in, at `/open/<pairing code>`: for development. Default: false. */
  readonly signInLinks?: boolean | undefined
}

/** For browsers: exchanges a token for a cookie that scripts cannot read. Not in tRPC, which cannot set cookies. */
export function registerSession(
  app: FastifyInstance,
  services: Services,
  { signInLinks = false }: SessionOptions = {},
): void {
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
    return answerSession(request, reply, await pair(request, request.body))
  })

  // A HEAD request, which a preview of the link may send, must not use up the code.
  if (signInLinks)
    app.get<{ Params: { code: string } }>(
      '/open/:code',
      { exposeHeadRoute: false },
      async (request, reply) => {
        assertThisMachine(request)
        const isSignedIn = request.api.principal.kind === 'session'
        if (!isSignedIn) {
          const device = { code: request.params.code, name: 'Browser (oncue dev)' }
          const principal = await pair(request, device).catch((error: unknown) => {
            if (request.headers.accept?.includes('text/html') !== true || !isOncueError(error)) throw error
            void reply.status(ERRORS[error.code].http).type('text/html; charset=utf-8').send(LINK_ENDED)
            return null
          })
          if (principal === null) return reply
          await startSession(request, reply, principal)
        }
        return reply.status(303).header('location', '/').send()
      },
    )

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

  /** The new device that the code made. */
  async function pair(request: FastifyRequest, device: unknown): Promise<Principal> {
    const { secret } = await perform(
      { ...request.api, denied: undefined },
      PROCEDURES.pairings.exchange,
      device,
    )
    return auth.identify({ authorization: `Bearer ${secret}` })
  }

  async function answerSession(request: FastifyRequest, reply: FastifyReply, principal: Principal) {
    const expiresAt = await startSession(request, reply, principal)
    const { name, role } = principal
    return reply.status(201).send({ name, role, expires_at: expiresAt })
  }

  async function startSession(request: FastifyRequest, reply: FastifyReply, principal: Principal) {
    // The new session replaces the one whose cookie came with the request.
    const api = { ...request.api, denied: undefined }
    const isTls = isSecure(reachedBy(request))
    const before = await auth
      .identify({ cookie: request.headers.cookie, isSecure: isTls })
      .catch(() => ANONYMOUS)
    const { secret, expiresAt } = await perform({ ...api, principal }, SESSION.create, undefined)
    if (before.kind === 'session') await perform({ ...api, principal: before }, SESSION.end, undefined)
    void reply.header('set-cookie', sessionCookie(secret, expiresAt.getTime() - runtime.now(), isTls))
    return expiresAt
  }
}

const LINK_ENDED = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Oncue</title>
<style>
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { max-width: 34rem; margin: 20vh auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
</style>
<h1>This link has been used, or has expired</h1>
<p>It signs in one browser, once, within an hour. Start <code>oncue dev</code> again for a new one, or <a href="/">sign in with a token</a>.</p>
</html>
`

const THIS_MACHINE = /^(localhost|127(\.\d+){3}|\[::1\])$/i
const LOOPBACK = /^(::ffff:)?127\.|^::1$/

/** Its connection, and the name it used: a tunnel, or another site's name for this address, has a name of its own. */
function assertThisMachine({ socket, hostname }: FastifyRequest): void {
  const isHere = LOOPBACK.test(socket.remoteAddress ?? '') && THIS_MACHINE.test(hostname)
  if (!isHere)
    throw new OncueError('FORBIDDEN', 'A sign-in link works only on the machine that printed it', {
      hint: 'Open it there, or sign in with a token.',
    })
}

const isUnauthorized = (error: unknown) => isOncueError(error, 'UNAUTHORIZED')
