import { type Runtime, systemRuntime } from './clock.ts'

/** Lets one reader wait until something happens, however often it happens. */
export class Signal {
  readonly #runtime: Runtime
  #isRaised = false
  #wake: (() => void) | undefined

  constructor(runtime: Runtime = systemRuntime) {
    this.#runtime = runtime
  }

  /** Bound, so that it can be passed as a listener. */
  readonly raise = (): void => {
    this.#isRaised = true
    this.#wake?.()
  }

  clear(): void {
    this.#isRaised = false
  }

  /** Resolves at once if it was raised since the last wait. False: `ms` passed without it. */
  async wait(ms = Number.POSITIVE_INFINITY, { unref = false } = {}): Promise<boolean> {
    if (!this.#isRaised) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        if (!Number.isFinite(ms)) return
        const timer = this.#runtime.after(ms, resolve)
        if (unref) timer.unref()
        this.#wake = () => {
          this.#runtime.cancel(timer)
          resolve()
        }
      })
      this.#wake = undefined
    }
    const wasRaised = this.#isRaised
    this.#isRaised = false
    return wasRaised
  }
}
