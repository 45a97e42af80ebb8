import { OncueError } from '@oncue/core'

const WINDOW_MS = 60_000
/** Of callers that are remembered: who calls from more makes them be forgotten, not the memory full. */
const MAX_KNOWN = 10_000

/**
 * For reads that look at job after job: one at a time for each caller, and so many a minute. Otherwise one token
 * could keep a database, or on SQLite the whole process, busy with nothing else.
 */
export class SearchBudget {
  readonly #perMinute: number
  readonly #now: () => number
  #began = Number.NEGATIVE_INFINITY
  readonly #spent = new Map<string, number>()
  /** The last one of each caller that has not ended. */
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(perMinute: number, now: () => number = () => performance.now()) {
    this.#perMinute = perMinute
    this.#now = now
  }

  /** RATE_LIMITED once the budget of the caller is spent, until the minute is over. */
  async spend<Answer>(caller: string, read: () => Promise<Answer>): Promise<Answer> {
    const now = this.#now()
    if (now - this.#began >= WINDOW_MS || this.#spent.size >= MAX_KNOWN) {
      this.#began = now
      this.#spent.clear()
    }
    const spent = this.#spent.get(caller) ?? 0
    if (spent >= this.#perMinute) {
      const retryAfterSeconds = Math.ceil((this.#began + WINDOW_MS - now) / 1_000)
      throw new OncueError('RATE_LIMITED', `More than ${this.#perMinute} searches within a minute`, {
        details: { retryAfterSeconds },
        hint: 'Search less often, or filter by queue, topic, status and time alone: that is no search.',
      })
    }
    this.#spent.set(caller, spent + 1)
    const before = this.#last.get(caller) ?? Promise.resolve()
    const answer = before.then(read, read)
    this.#last.set(caller, answer)
    try {
      return await answer
    } finally {
      if (this.#last.get(caller) === answer) this.#last.delete(caller)
    }
  }
}
