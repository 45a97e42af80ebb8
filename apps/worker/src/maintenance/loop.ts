import type { Logger } from '../log.ts'
import { Outage } from '../outage.ts'

export interface LoopOptions {
  readonly log: Logger
  /** For messages: `<what> failed`. */
  readonly what: string
  /** A wake-up comes at the earliest this long after the last time; 0. */
  readonly gapMs?: number | undefined
  /** Answers in how many milliseconds to do it again. */
  readonly work: (signal: AbortSignal) => Promise<number>
}

/**
 * Something that is done again and again, until it is stopped. An error ends nothing: it is reported
 * once, and the work is tried again until it works. Starting and stopping twice does no harm.
 */
export class Loop {
  readonly #options: LoopOptions
  #stopping: AbortController | undefined
  #done: Promise<void> = Promise.resolve()
  #startedAt = 0
  #isWoken = false
  /** While it waits: until when, and how to go on. */
  #waiting: { dueAt: number; timer: NodeJS.Timeout; readonly goOn: () => void } | undefined

  constructor(options: LoopOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#stopping) return
    this.#stopping = new AbortController()
    const { signal } = this.#stopping
    // The one before may still be ending.
    this.#done = this.#done.then(() => this.#run(signal))
  }

  /** Now instead of later; or once more, if it is at it. */
  wake(): void {
    this.#isWoken = true
    this.#expect(this.#startedAt + (this.#options.gapMs ?? 0))
  }

  /** Resolves when it is no longer at it. */
  async stop(): Promise<void> {
    this.#stopping?.abort()
    this.#stopping = undefined
    this.#waiting?.goOn()
    await this.#done
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { log, what, work } = this.#options
    const outage = new Outage(log, what)
    while (!signal.aborted) {
      this.#isWoken = false
      this.#startedAt = performance.now()
      let waitMs = 0
      try {
        waitMs = await work(signal)
        outage.worked()
      } catch (error) {
        // What fails because it is being stopped is nobody's problem.
        if (!signal.aborted) waitMs = outage.failed(error)
      }
      if (!signal.aborted) await this.#wait(waitMs)
    }
  }

  async #wait(ms: number): Promise<void> {
    await new Promise<void>((goOn) => {
      this.#waiting = { dueAt: performance.now() + ms, timer: timer(goOn, ms), goOn }
      if (this.#isWoken) this.wake()
    })
    clearTimeout(this.#waiting?.timer)
    this.#waiting = undefined
  }

  #expect(at: number): void {
    const waiting = this.#waiting
    if (!waiting || at >= waiting.dueAt) return
    clearTimeout(waiting.timer)
    waiting.dueAt = at
    waiting.timer = timer(waiting.goOn, Math.max(0, at - performance.now()))
  }
}

/** Not what keeps a process alive. */
const timer = (done: () => void, ms: number) => setTimeout(done, ms).unref()
