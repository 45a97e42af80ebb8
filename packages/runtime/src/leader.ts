import { type Runtime, systemRuntime } from './clock.ts'
import type { Logger } from './logger.ts'
import { Loop } from './loop.ts'
import { type Service, together } from './service.ts'

/** Where terms are recorded: a store. */
export interface Terms {
  /** Whether `by` leads for the next `termMs`. */
  lead(what: string, by: string, termMs: number): Promise<boolean>
  stepDown(what: string, by: string): Promise<void>
}

export interface LeaderOptions {
  readonly store: Terms
  /** What is led, and by which process. */
  readonly what: string
  readonly by: string
  /** For the log: `<who> leads <what>`; this process. */
  readonly who?: string | undefined
  readonly termMs: number
  /** How often to try, and to renew. */
  readonly tryMs: number
  /** What only the leader runs. */
  readonly duties: readonly Service[]
  readonly log: Pick<Logger, 'info' | 'error'>
  readonly runtime?: Runtime | undefined
}

/**
 * Runs its duties while it leads. A leader that cannot renew its term stops by its own clock, at about the time at which
 * another may begin; duties must tolerate an overlap.
 */
export class Leader implements Service {
  readonly #options: LeaderOptions
  readonly #runtime: Runtime
  readonly #duties: Service
  readonly #loop: Loop
  #leads = false
  #until = 0

  constructor(options: LeaderOptions) {
    const { log, what, duties, runtime = systemRuntime } = options
    this.#options = options
    this.#runtime = runtime
    this.#duties = together(duties)
    this.#loop = new Loop({ log, runtime, what: `leading ${what}`, work: () => this.#work() })
  }

  start(): void {
    this.#loop.start()
  }

  /** Makes room for another at once. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    if (!this.#leads) return
    await this.#become(false)
    const { store, what, by } = this.#options
    // If the store cannot be reached, the term ends by itself.
    await store.stepDown(what, by).catch(() => {})
  }

  async #work(): Promise<number> {
    const { store, what, by, termMs, tryMs } = this.#options
    const askedAt = this.#runtime.monotonic()
    if (askedAt >= this.#until) await this.#become(false)
    const leads = await store.lead(what, by, termMs)
    if (leads) this.#until = askedAt + termMs
    await this.#become(leads)
    return tryMs * (0.9 + this.#runtime.random() / 5)
  }

  async #become(leader: boolean): Promise<void> {
    if (leader === this.#leads) return
    this.#leads = leader
    const { log, what, who = 'this process' } = this.#options
    log.info({}, leader ? `${who} leads ${what}` : `${who} no longer leads ${what}`)
    if (leader) this.#duties.start()
    else await this.#duties.stop()
  }
}
