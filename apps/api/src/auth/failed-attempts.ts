import { isOncueError } from '@oncue/core'
import type { ApiContext } from '../context.ts'
import { networkOf } from '../http/address.ts'

const WINDOW_MS = 60_000
/** In a minute, of all addresses together: strangers must not be able to fill the database, or the log. */
const MAX_RECORDED = 300
/** Of these, of one network: a flood must not hide what others try. */
const MAX_OF_NETWORK = 10

const CAPPED = `audit of failed attempts is capped at ${MAX_RECORDED} a minute; dropping the rest`
const NETWORK_CAPPED = `audit of failed attempts is capped at ${MAX_OF_NETWORK} a minute for each network; dropping the rest of this one`

const REFUSED = {
  'session.refused': 'a sign-in was refused',
  'pairings.refused': 'a pairing code was refused',
} as const

/** Writes down who could not sign in and whose code was wrong, in the audit and in the log. */
export class FailedAttempts {
  readonly #now: () => number
  #began = Number.NEGATIVE_INFINITY
  /** As many as were recorded in all, and of each network as many as came, while there was room in all. */
  #recorded = 0
  readonly #tried = new Map<string, number>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** What was not their mistake is not recorded. Never fails: the attempt has its own answer. */
  async record(
    ctx: ApiContext,
    action: 'session.refused' | 'pairings.refused',
    error: unknown,
  ): Promise<void> {
    if (!isOncueError(error, 'UNAUTHORIZED') && !isOncueError(error, 'PAIRING_REFUSED')) return
    const now = this.#now()
    if (now - this.#began >= WINDOW_MS) {
      this.#began = now
      this.#recorded = 0
      this.#tried.clear()
    }
    if (this.#recorded > MAX_RECORDED) return
    const { id: requestId, ip } = ctx.request
    const network = networkOf(ip)
    const tried = (this.#tried.get(network) ?? 0) + 1
    this.#tried.set(network, tried)
    if (tried > MAX_OF_NETWORK + 1) return
    if (tried > MAX_OF_NETWORK) return ctx.log.warn({ action, requestId, ip }, NETWORK_CAPPED)
    this.#recorded++
    if (this.#recorded > MAX_RECORDED) return ctx.log.warn({ action, requestId, ip }, CAPPED)
    ctx.log.warn({ action, requestId, ip, code: error.code }, REFUSED[action])
    await ctx.audit.record(ctx, action, { target: { reason: error.code }, count: 0 }).catch(() => {})
  }
}
