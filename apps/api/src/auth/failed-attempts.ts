import { isOncueError } from '@oncue/core'
import type { ApiContext } from '../context.ts'

const WINDOW_MS = 60_000
/** In a minute, of all addresses together: strangers must not be able to fill the database, or the log. */
const MAX_RECORDED = 300

const REFUSED = {
  'session.refused': 'a sign-in was refused',
  'pairings.refused': 'a pairing code was refused',
} as const

/** Writes down who could not sign in and whose code was wrong, in the audit and in the log. */
export class FailedAttempts {
  readonly #now: () => number
  #began = Number.NEGATIVE_INFINITY
  #recorded = 0

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
    }
    this.#recorded++
    if (this.#recorded > MAX_RECORDED + 1) return
    const { id: requestId, ip } = ctx.request
    if (this.#recorded > MAX_RECORDED)
      return ctx.log.warn({ action, requestId, ip }, 'more attempts fail than are recorded within a minute')
    ctx.log.warn({ action, requestId, ip, code: error.code }, REFUSED[action])
    await ctx.audit.record(ctx, action, { target: { reason: error.code }, count: 0 }).catch(() => {})
  }
}
