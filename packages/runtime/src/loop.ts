import { type BackoffOptions, Outage } from './backoff.ts'
import { type Runtime, systemRuntime } from './clock.ts'
import { type Logger, silentLogger } from './logger.ts'
import type { Service } from './service.ts'
import { Signal } from './signal.ts'

export interface LoopOptions {
  /** For the log: `<what> failed`. */
  readonly what: string
  /** Returns in how many milliseconds to run again; Infinity: when it is woken. */
  readonly work: (signal: AbortSignal) => Promise<number> | number
  /** How long the first run waits after a start; 0. */
  readonly firstMs?: number | undefined
  /** A wake-up takes effect at the earliest this long after the start of the last run; 0. */
  readonly gapMs?: number | undefined
  /** How long to wait after a failure; 100 ms at first, at most 5 s. */
  readonly backoff?: BackoffOptions | undefined
  /** Whether its waits keep the process alive; false. */
  readonly keepsAlive?: boolean | undefined
  readonly log?: Pick<Logger, 'info' | 'error'> | undefined
  readonly runtime?: Runtime | undefined
}

/** Repeats work until it is stopped. A failure does not end it: it is logged once and retried. */
export class Loop implements Service {
  readonly #options: LoopOptions
  readonly #runtime: Runtime
  readonly #woken: Signal
  #stopping: AbortController | undefined
  #done: Promise<void> = Promise.resolve()

  constructor(options: LoopOptions) {
    this.#options = options
    this.#runtime = options.runtime ?? systemRuntime
    this.#woken = new Signal(this.#runtime)
  }

  start(): void {
    if (this.#stopping) return
    this.#stopping = new AbortController()
    const { signal } = this.#stopping
    // Raised by the last stop. A wake-up from here on is meant for the new run.
    this.#woken.clear()
    // The previous run may still be stopping.
    this.#done = this.#done.then(() => this.#run(signal))
  }

  /** Runs now instead of later; or once more, if it is running. */
  wake(): void {
    this.#woken.raise()
  }

  async stop(): Promise<void> {
    this.#stopping?.abort()
    this.#stopping = undefined
    this.#woken.raise()
    await this.#done
  }

  async #run(signal: AbortSignal): Promise<void> {
    const {
      what,
      work,
      firstMs = 0,
      gapMs = 0,
      log = silentLogger,
      backoff,
      keepsAlive = false,
    } = this.#options
    const runtime = this.#runtime
    const outage = new Outage({ log, what, backoff, runtime })
    if (firstMs > 0 && !signal.aborted) await this.#woken.wait(firstMs, { unref: !keepsAlive })
    while (!signal.aborted) {
      this.#woken.clear()
      const startedAt = runtime.monotonic()
      let waitMs = 0
      try {
        waitMs = await work(signal)
        outage.worked()
      } catch (error) {
        // A failure caused by the stop is not an outage.
        if (!signal.aborted) waitMs = outage.failed(error)
      }
      if (signal.aborted) return
      const dueAt = runtime.monotonic() + waitMs
      if (!(await this.#woken.wait(waitMs, { unref: !keepsAlive }))) continue
      const restMs = Math.min(startedAt + gapMs, dueAt) - runtime.monotonic()
      if (restMs > 0) await runtime.sleep(restMs, { signal, unref: !keepsAlive })
    }
  }
}
