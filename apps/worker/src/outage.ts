import { isOncueError } from '@oncue/core'
import type { Logger } from './log.ts'

const FIRST_MS = 100
const LAST_MS = 5_000

/** A time in which the database cannot be used: reported once when it begins and once when it is over. */
export class Outage {
  readonly #log: Logger
  readonly #what: string
  #since: number | null = null
  #failures = 0

  constructor(log: Logger, what: string) {
    this.#log = log
    this.#what = what
  }

  get isOn(): boolean {
    return this.#since !== null
  }

  /** Taken before an attempt, to tell `worked` that no other has failed meanwhile. */
  get mark(): number {
    return this.#failures
  }

  /** Answers how long to wait before the next attempt. Jitter: not all workers at once. */
  failed(error: unknown): number {
    if (this.#since === null) {
      this.#since = performance.now()
      const { code, hint } = isOncueError(error) ? error : {}
      this.#log.error({ err: error, code, hint }, `${this.#what} failed; trying again until it works`)
    }
    const wait = Math.min(LAST_MS, FIRST_MS * 2 ** this.#failures)
    this.#failures += 1
    return wait * (0.5 + Math.random() / 2)
  }

  worked(mark: number = this.#failures): void {
    if (this.#since === null || mark !== this.#failures) return
    const downMs = Math.round(performance.now() - this.#since)
    this.#log.info({ downMs, failures: this.#failures }, `${this.#what} works again`)
    this.#since = null
    this.#failures = 0
  }
}
