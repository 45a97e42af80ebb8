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

export interface TermOptions {
  readonly store: Terms
  /** The task, and the process that leads it. */
  readonly what: string
  readonly by: string
  readonly termMs: number
}

/** The right to lead, for work that checks each time whether this process leads. */
export class Term {
  readonly #options: TermOptions

  constructor(options: TermOptions) {
    this.#options = options
  }

  /** Takes the term or renews it. False: another process leads. */
  take(): Promise<boolean> {
    const { store, what, by, termMs } = this.#options
    return store.lead(what, by, termMs)
  }

  /** Makes room for another process at once. If the store cannot be reached, the term ends by itself. */
  async end(): Promise<void> {
    const { store, what, by } = this.#options
    await store.stepDown(what, by).catch(() => {})
  }
}

export interface LeaderOptions extends TermOptions {
  /** For the log: `<who> is now the leader for <what>`; default: this process. */
  readonly who?: string | undefined
  /** How often to try to lead, and to renew the term. */
  readonly tryMs: number
  /** The services that only the leader runs. */
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
  readonly #term: Term
  readonly #loop: Loop
  #leads = false
  #until = 0

  constructor(options: LeaderOptions) {
    const { log, what, duties, runtime = systemRuntime } = options
    this.#options = options
    this.#runtime = runtime
    this.#duties = together(duties)
    this.#term = new Term(options)
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
    await this.#term.end()
  }

  async #work(): Promise<number> {
    const { termMs, tryMs } = this.#options
    const askedAt = this.#runtime.monotonic()
    if (askedAt >= this.#until) await this.#become(false)
    const leads = await this.#term.take()
    if (leads) this.#until = askedAt + termMs
    await this.#become(leads)
    return tryMs * (0.9 + this.#runtime.random() / 5)
  }

  async #become(leader: boolean): Promise<void> {
    if (leader === this.#leads) return
    this.#leads = leader
    const { log, what, who = 'this process' } = this.#options
    log.info(
      {},
      leader ? `${who} is now the leader for ${what}` : `${who} is no longer the leader for ${what}`,
    )
    if (leader) this.#duties.start()
    else await this.#duties.stop()
  }
}
