import { isOncueError } from '@oncue/core'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import type { ApiContext } from '../context.ts'
import { networkOf } from '../http/address.ts'

const WINDOW_MS = 60_000
/** Per minute over all addresses: strangers must not be able to fill the database or the log. */
const MAX_RECORDED = 300
/** Per minute and network: a flood from one must not hide attempts from others. */
const MAX_OF_NETWORK = 10

const CAPPED = `audit of failed attempts is capped at ${MAX_RECORDED} per minute; dropping the rest`
const NETWORK_CAPPED = `audit of failed attempts is capped at ${MAX_OF_NETWORK} per minute and network; dropping the rest from this network`

const REFUSED = {
  'session.refused': 'sign-in rejected',
  'pairings.refused': 'pairing code rejected',
} as const

/** Records failed sign-ins and wrong pairing codes in the audit and in the log. */
export class FailedAttempts {
  readonly #clock: Pick<Runtime, 'monotonic'>
  #began = Number.NEGATIVE_INFINITY
  /** Recorded in this window, and attempted by each network. */
  #recorded = 0
  readonly #tried = new Map<string, number>()

  constructor(clock: Pick<Runtime, 'monotonic'> = systemRuntime) {
    this.#clock = clock
  }

  /** Records only the caller's own mistakes. Never throws: the attempt returns its own error. */
  async record(
    ctx: ApiContext,
    action: 'session.refused' | 'pairings.refused',
    error: unknown,
  ): Promise<void> {
    if (!isOncueError(error, 'UNAUTHORIZED') && !isOncueError(error, 'PAIRING_REFUSED')) return
    const now = this.#clock.monotonic()
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
