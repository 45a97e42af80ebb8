import type { JobEvent } from './types.ts'

/** What a watcher needs of the hub. */
export type Watched = {
  enter(watcher: Watcher): void
  leave(watcher: Watcher): void
  wanted(): void
}

/**
 * One reader of one stream. Written out as an iterator, not as an async generator, because
 * `return()` of a generator would wait for a `next()` that may not end for hours.
 */
export class Watcher implements AsyncIterator<JobEvent, undefined> {
  readonly jobId: string
  /** There may be something that it has not seen. */
  isStale = true
  readonly #hub: Watched
  readonly #signal: AbortSignal
  readonly #onAbort = () => this.#end()
  #version: number
  #page: readonly JobEvent[] = []
  #at = 0
  #state: 'new' | 'open' | 'ended' = 'new'
  #error: { readonly reason: unknown } | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #wake: (() => void) | undefined

  constructor(jobId: string, afterVersion: number, signal: AbortSignal, hub: Watched) {
    this.jobId = jobId
    this.#version = afterVersion
    this.#signal = signal
    this.#hub = hub
  }

  /** The last version that its reader got. */
  get version(): number {
    return this.#version
  }

  get isWaiting(): boolean {
    return this.#wake !== undefined
  }

  /** Calls that do not wait for each other are answered in their order. */
  next(): Promise<IteratorResult<JobEvent, undefined>> {
    const result = this.#turn.then(() => this.#take())
    this.#turn = result.catch(() => {})
    return result
  }

  async return(): Promise<IteratorResult<JobEvent, undefined>> {
    this.#end()
    return { done: true, value: undefined }
  }

  /** A page of events after its version; `isAll`: there were no more of them. */
  give(page: readonly JobEvent[], isAll: boolean): void {
    this.#page = page
    this.#at = 0
    if (!isAll) this.isStale = true
    this.#resume()
  }

  fail(reason: unknown): void {
    this.#error = { reason }
    this.#end()
  }

  async #take(): Promise<IteratorResult<JobEvent, undefined>> {
    if (this.#state === 'new') this.#start()
    while (this.#state === 'open' && this.#at >= this.#page.length) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        this.#hub.wanted()
      })
    }
    const event = this.#page[this.#at++]
    if (this.#state === 'open' && event) {
      this.#version = event.version
      return { done: false, value: event }
    }
    const error = this.#error
    this.#error = undefined
    if (error) throw error.reason
    return { done: true, value: undefined }
  }

  #start(): void {
    if (this.#signal.aborted) {
      this.#state = 'ended'
      return
    }
    this.#hub.enter(this)
    this.#state = 'open'
    this.#signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  #end(): void {
    this.#state = 'ended'
    this.#page = []
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#hub.leave(this)
    this.#resume()
  }

  #resume(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
