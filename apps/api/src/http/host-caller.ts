import { AsyncLocalStorage } from 'node:async_hooks'
import { OncueError } from '@oncue/core'
import type { FastifyInstance } from 'fastify'
import type { Principal } from '../auth/principal.ts'

interface HostCaller {
  readonly principal: Principal
  /** Why the request is refused. */
  readonly denied?: unknown
}

/** Who sends the request that is being served, in the words of the application in which this API is mounted. */
export const hostCaller = new AsyncLocalStorage<HostCaller>()

/** Procedures of tRPC refuse in their own format, which streams need; everything else, files included, is refused here. */
export function refuseStrangers(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _, done) => {
    const caller = hostCaller.getStore()
    const denied = caller ? caller.denied : new OncueError('UNAUTHORIZED', 'Not signed in')
    done(denied === undefined || request.url.startsWith('/trpc/') ? undefined : (denied as Error))
  })
}
