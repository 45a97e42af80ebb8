import { OncueError } from '@oncue/core'

const WINDOW_MS = 60_000

/** Wrong guesses that are answered within a minute: of one address, and of all together. */
export interface GuessLimits {
  readonly perAddress: number
  readonly inAll: number
}

/** Keeps those who try codes from trying many. What is right costs nothing. */
export class GuessBudget {
  readonly #limits: GuessLimits
  readonly #now: () => number
  #began = Number.NEGATIVE_INFINITY
  #inAll = 0
  readonly #byAddress = new Map<string, number>()

  constructor(limits: GuessLimits, now: () => number = () => performance.now()) {
    this.#limits = limits
    this.#now = now
  }

  /** RATE_LIMITED once the budget is spent, until the minute is over; a failure of `guess` spends of it. */
  async spend<Answer>(address: string, guess: () => Promise<Answer>): Promise<Answer> {
    const now = this.#now()
    if (now - this.#began >= WINDOW_MS) {
      this.#began = now
      this.#inAll = 0
      this.#byAddress.clear()
    }
    const tried = this.#byAddress.get(address) ?? 0
    if (tried >= this.#limits.perAddress || this.#inAll >= this.#limits.inAll) {
      const retryAfterSeconds = Math.ceil((this.#began + WINDOW_MS - now) / 1_000)
      throw new OncueError('RATE_LIMITED', 'Too many wrong codes within a minute', {
        details: { retryAfterSeconds },
        hint: `Wait ${retryAfterSeconds} seconds, and check the code.`,
      })
    }
    // Counted before it is known, or those that come at once would all be let in.
    this.#byAddress.set(address, tried + 1)
    this.#inAll += 1
    const answer = await guess()
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 1) - 1)
    this.#inAll -= 1
    return answer
  }
}
