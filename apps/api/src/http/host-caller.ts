import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import { OncueError } from '@oncue/core'
import type { FastifyInstance } from 'fastify'
import type { Principal } from '../auth/principal.ts'

export interface HostCaller {
  readonly principal: Principal
  /** Why the request is refused. */
  readonly denied?: unknown
  /** Aborted when the caller leaves: of an injected request, which has no connection that could tell. */
  readonly gone?: AbortSignal | undefined
}

/** Who sends the request that is being served, in the words of the application in which this API is mounted. */
export const hostCaller = new AsyncLocalStorage<HostCaller>()

/** Procedures of tRPC refuse in their own format, which streams need; everything else, files included, is refused here. */
export function refuseStrangers(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _, done) => {
    const caller = hostCaller.getStore()
    const denied = caller ? caller.denied : new OncueError('UNAUTHORIZED', 'Not signed in')
    if (caller?.gone) endWith(caller.gone, request.raw)
    const isProcedure = request.routeOptions.url?.startsWith('/trpc/') === true
    done(denied === undefined || isProcedure ? undefined : (denied as Error))
  })
}

/** Its response ends with it. */
function endWith(gone: AbortSignal, request: IncomingMessage): void {
  const end = () => void request.destroy(new Error('The caller has left'))
  if (gone.aborted) end()
  else gone.addEventListener('abort', end, { once: true })
}
