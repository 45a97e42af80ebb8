import type { Runtime } from '@oncue/runtime'

/** A run that can be given a timer. */
export interface Timed {
  /** Starts the timer of its timeout, unless it is over. */
  startTimeout(now: number): void
}

/**
 * Timeouts of runs. A run gets its timer in the next turn of the event loop, when most short runs are over and need
 * none. No timer could fire earlier; the time until then counts.
 */
export class Timeouts {
  readonly #runtime: Runtime
  #young: Timed[] = []

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  watch(run: Timed): void {
    if (this.#young.push(run) === 1) this.#runtime.after(0, () => this.#startTimers())
  }

  #startTimers(): void {
    const young = this.#young
    this.#young = []
    const now = this.#runtime.monotonic()
    for (const run of young) run.startTimeout(now)
  }
}
