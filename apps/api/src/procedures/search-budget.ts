import { OncueError } from '@oncue/core'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import type { ApiContext } from '../context.ts'
import { callerOf } from './procedure.ts'

const WINDOW_MS = 60_000
/** Callers whose counts are kept. More of them reset all counts, so that memory stays bounded. */
const MAX_KNOWN = 10_000
/** Searches of a caller that wait for the one that runs. */
const MAX_WAITING = 5

/**
 * For reads that look at job after job: one at a time for each caller, and so many a minute. Otherwise one token
 * could keep a database, or on SQLite the whole process, busy with nothing else.
 */
export class SearchBudget {
  readonly #perMinute: number
  readonly #clock: Pick<Runtime, 'monotonic'>
  #began = Number.NEGATIVE_INFINITY
  readonly #spent = new Map<string, number>()
  /** For each caller: its last search, and how many have not ended. */
  readonly #open = new Map<string, { readonly last: Promise<unknown>; readonly count: number }>()

  constructor(perMinute: number, clock: Pick<Runtime, 'monotonic'> = systemRuntime) {
    this.#perMinute = perMinute
    this.#clock = clock
  }

  /**
   * RATE_LIMITED when the caller's budget for this minute is spent, or too many of its searches wait. A search whose
   * caller has left before its turn is not started.
   */
  async spend<Output>(
    caller: string,
    read: () => Promise<Output>,
    isGone: () => boolean = () => false,
  ): Promise<Output> {
    const now = this.#clock.monotonic()
    if (now - this.#began >= WINDOW_MS || this.#spent.size >= MAX_KNOWN) {
      this.#began = now
      this.#spent.clear()
    }
    const spent = this.#spent.get(caller) ?? 0
    if (spent >= this.#perMinute) {
      const retryAfterSeconds = Math.ceil((this.#began + WINDOW_MS - now) / 1_000)
      throw new OncueError('RATE_LIMITED', `More than ${this.#perMinute} searches within a minute`, {
        details: { retryAfterSeconds },
        hint: 'Search less often, or filter only by queue, topic, status and time, which does not count as a search.',
      })
    }
    const { last, count } = this.#open.get(caller) ?? { last: Promise.resolve(), count: 0 }
    if (count > MAX_WAITING)
      throw new OncueError('RATE_LIMITED', `More than ${MAX_WAITING} searches are waiting`, {
        details: { retryAfterSeconds: 1 },
        hint: 'Wait for a search to finish before you start the next.',
      })
    this.#spent.set(caller, spent + 1)
    const begin = () => {
      if (isGone()) throw new OncueError('RATE_LIMITED', 'The caller disconnected before its search started')
      return read()
    }
    const output = last.then(begin, begin)
    this.#open.set(caller, { last: output, count: count + 1 })
    try {
      return await output
    } finally {
      const now = this.#open.get(caller)
      if (now && now.count > 1) this.#open.set(caller, { ...now, count: now.count - 1 })
      else this.#open.delete(caller)
    }
  }
}

/** A read that looks at job after job, within the caller's budget. */
export function search<Output>(ctx: ApiContext, read: () => Promise<Output>): Promise<Output> {
  return ctx.searches.spend(callerOf(ctx), read, ctx.request.isGone)
}
