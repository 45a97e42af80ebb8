import { OncueError } from '@oncue/core'
import { networkOf } from '../server/address.ts'

const WINDOW_MS = 60_000
/** Whoever sends from more makes them be forgotten, not the memory full. */
const MAX_KNOWN = 100_000

/**
 * Keeps those who try codes from trying many: so many wrong ones of one address are answered within a minute.
 * What is right costs nothing. There is no limit for all together, or strangers could keep everybody from
 * pairing; that a code is not found from many addresses is up to its length.
 */
export class GuessBudget {
  readonly #perAddress: number
  readonly #now: () => number
  #began = Number.NEGATIVE_INFINITY
  readonly #tried = new Map<string, number>()

  constructor(perAddress: number, now: () => number = () => performance.now()) {
    this.#perAddress = perAddress
    this.#now = now
  }

  /** RATE_LIMITED once the budget is spent, until the minute is over; a failure of `guess` spends of it. */
  async spend<Answer>(address: string, guess: () => Promise<Answer>): Promise<Answer> {
    const now = this.#now()
    if (now - this.#began >= WINDOW_MS || this.#tried.size >= MAX_KNOWN) {
      this.#began = now
      this.#tried.clear()
    }
    const network = networkOf(address)
    const tried = this.#tried.get(network) ?? 0
    if (tried >= this.#perAddress) {
      const retryAfterSeconds = Math.ceil((this.#began + WINDOW_MS - now) / 1_000)
      throw new OncueError('RATE_LIMITED', 'Too many wrong codes within a minute', {
        details: { retryAfterSeconds },
        hint: `Wait ${retryAfterSeconds} seconds, and check the code.`,
      })
    }
    // Counted before it is known, or those that come at once would all be let in.
    this.#tried.set(network, tried + 1)
    const answer = await guess()
    this.#tried.set(network, (this.#tried.get(network) ?? 1) - 1)
    return answer
  }
}
