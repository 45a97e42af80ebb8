import { Inbox } from './inbox.ts'

/** What is slow to read may take a fifth of the time, up to a limit. */
const REST_FACTOR = 5
const MAX_REST_MS = 10_000

/** What many want to know, read at most once a second for all who ask and all who watch. */
export class Board<T> {
  readonly #read: () => Promise<T>
  readonly #tellTaleOf: (value: T) => string
  readonly #maxAgeMs: number
  readonly #watchers = new Set<(value: T) => void>()
  #restMs: number
  #latest: { readonly value: Promise<T>; until: number } | undefined
  #poll: NodeJS.Timeout | undefined

  /** Two values with the same tell-tale are the same to those who watch. */
  constructor(read: () => Promise<T>, tellTaleOf: (value: T) => string, maxAgeMs = 1_000) {
    this.#read = read
    this.#tellTaleOf = tellTaleOf
    this.#maxAgeMs = maxAgeMs
    this.#restMs = maxAgeMs
  }

  /** How many watch. */
  get size(): number {
    return this.#watchers.size
  }

  /** At most a second old, if it can be had that fast. */
  get(): Promise<T> {
    if (this.#latest && performance.now() < this.#latest.until) return this.#latest.value
    const start = performance.now()
    // Nobody begins another while it is under way.
    const latest = { value: this.#read(), until: Number.POSITIVE_INFINITY }
    this.#latest = latest
    latest.value.then(
      () => {
        const restMs = (performance.now() - start) * REST_FACTOR
        this.#restMs = Math.max(this.#maxAgeMs, Math.min(restMs, MAX_REST_MS))
        latest.until = start + this.#restMs
      },
      () => {
        this.#latest = undefined
      },
    )
    return latest.value
  }

  /** As it is now, and again whenever it has changed: at most once a second, and never as it was before. */
  async *watch(signal: AbortSignal): AsyncGenerator<T, void> {
    const inbox = new Inbox()
    let next: { readonly value: T } | undefined
    let told: string | undefined
    const watcher = (value: T) => {
      next = { value }
      inbox.ring()
    }
    this.#watchers.add(watcher)
    signal.addEventListener('abort', inbox.ring, { once: true })
    this.#poll ??= setTimeout(() => void this.#look(), this.#restMs)
    try {
      watcher(await this.get())
      for (;;) {
        await inbox.wait()
        signal.throwIfAborted()
        if (!next) continue
        const tellTale = this.#tellTaleOf(next.value)
        if (tellTale === told) continue
        told = tellTale
        yield next.value
      }
    } finally {
      signal.removeEventListener('abort', inbox.ring)
      this.#watchers.delete(watcher)
    }
  }

  close(): void {
    clearTimeout(this.#poll)
    this.#watchers.clear()
  }

  async #look(): Promise<void> {
    try {
      const value = await this.get()
      for (const watcher of this.#watchers) watcher(value)
    } catch {
      // A database that is away comes back; until then it stays what it was.
    }
    this.#poll = this.#watchers.size > 0 ? setTimeout(() => void this.#look(), this.#restMs) : undefined
  }
}
