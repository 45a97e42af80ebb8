import { type Runtime, systemRuntime } from './clock.ts'
import type { Logger } from './logger.ts'

export type BackoffOptions = {
  /** The longest wait before the first retry. */
  readonly firstMs: number
  readonly maxMs: number
  /** The factor between two waits; 2. */
  readonly factor?: number | undefined
  /** The random part of a wait; 0.5. Processes that failed together do not retry together. */
  readonly jitter?: number | undefined
}

/** How long to wait after this attempt, counted from 0. */
export function backoff(
  attempt: number,
  { firstMs, maxMs, factor = 2, jitter = 0.5 }: BackoffOptions,
  { random }: Pick<Runtime, 'random'>,
): number {
  return Math.min(maxMs, firstMs * factor ** attempt) * (1 - jitter * random())
}

const RETRY: BackoffOptions = { firstMs: 100, maxMs: 5_000 }

export type OutageOptions = {
  readonly log: Pick<Logger, 'info' | 'error'>
  /** For the log: `<what> failed`. */
  readonly what: string
  readonly backoff?: BackoffOptions | undefined
  readonly runtime?: Runtime | undefined
}

/** A time in which something keeps failing: logged once when it begins and once when it ends. */
export class Outage {
  readonly #options: OutageOptions
  readonly #runtime: Runtime
  #since: number | null = null
  #failures = 0

  constructor(options: OutageOptions) {
    this.#options = options
    this.#runtime = options.runtime ?? systemRuntime
  }

  get isOn(): boolean {
    return this.#since !== null
  }

  /** Taken before an attempt, to tell `worked` that no other has failed meanwhile. */
  get mark(): number {
    return this.#failures
  }

  /** Returns how long to wait before the next attempt. */
  failed(error: unknown): number {
    const { log, what, backoff: options = RETRY } = this.#options
    if (this.#since === null) {
      this.#since = this.#runtime.monotonic()
      const { code, hint } = (error ?? {}) as { code?: unknown; hint?: unknown }
      log.error({ err: error, code, hint }, `${what} failed; retrying until it succeeds`)
    }
    return backoff(this.#failures++, options, this.#runtime)
  }

  worked(mark: number = this.#failures): void {
    if (this.#since === null || mark !== this.#failures) return
    const { log, what } = this.#options
    const downMs = Math.round(this.#runtime.monotonic() - this.#since)
    log.info({ downMs, failures: this.#failures }, `${what} works again`)
    this.#since = null
    this.#failures = 0
  }
}
