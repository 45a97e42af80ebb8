import type { Store } from '@oncue/db'
import type { Logger } from '../log.ts'
import { Loop } from './loop.ts'

/** What only the leader does. */
export interface Duty {
  start(): void
  stop(): Promise<void>
}

export interface LeaderOptions {
  readonly store: Store
  readonly log: Logger
  /** What is led, and by whom. */
  readonly what: string
  readonly by: string
  readonly termMs: number
  /** How often to try, and to renew. */
  readonly tryMs: number
  readonly duties: readonly Duty[]
}

/**
 * Does its duties while it leads. A leader that cannot renew its term stops by its own watch, at about
 * the time at which another may begin; whatever two of them do at once is harmless.
 */
export class Leader {
  readonly #options: LeaderOptions
  readonly #loop: Loop
  #leads = false
  #until = 0

  constructor(options: LeaderOptions) {
    this.#options = options
    this.#loop = new Loop({ log: options.log, what: `leading ${options.what}`, work: () => this.#work() })
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
    // If nobody hears it, the term ends by itself.
    await store.stepDown(what, by).catch(() => {})
  }

  async #work(): Promise<number> {
    const { store, what, by, termMs, tryMs } = this.#options
    const asked = performance.now()
    if (asked >= this.#until) await this.#become(false)
    const leads = await store.lead(what, by, termMs)
    if (leads) this.#until = asked + termMs
    await this.#become(leads)
    return tryMs * (0.9 + Math.random() / 5)
  }

  async #become(leader: boolean): Promise<void> {
    if (leader === this.#leads) return
    const { log, what, duties } = this.#options
    this.#leads = leader
    log.info({}, leader ? `the worker leads ${what}` : `the worker no longer leads ${what}`)
    for (const duty of duties) {
      if (leader) duty.start()
      else await duty.stop()
    }
  }
}
