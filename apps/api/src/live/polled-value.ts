import { Loop, type Runtime, Signal, systemRuntime } from '@oncue/runtime'

/** A slow read may take a fifth of the time, unless that would make the value older than 10 s. */
const REST_FACTOR = 5
const MAX_REST_MS = 10_000

export interface PolledValueOptions<T> {
  readonly read: () => Promise<T>
  /** Watchers are not told of a value with the same version as the last one. */
  readonly versionOf: (value: T) => string
  /** How often it is read at most; 1 s. */
  readonly maxAgeMs?: number | undefined
  readonly runtime?: Runtime | undefined
}

/** A value that is read at most once a second for all who ask for it and all who watch it. */
export class PolledValue<T> {
  readonly #options: PolledValueOptions<T>
  readonly #runtime: Runtime
  readonly #watchers = new Set<(value: T) => void>()
  readonly #loop: Loop
  #restMs: number
  #latest: { readonly value: Promise<T>; until: number } | undefined

  constructor(options: PolledValueOptions<T>) {
    const { maxAgeMs = 1_000, runtime = systemRuntime } = options
    this.#options = options
    this.#runtime = runtime
    this.#restMs = maxAgeMs
    this.#loop = new Loop({ what: 'polling a value', runtime, work: () => this.#poll() })
  }

  /** How many watch. */
  get size(): number {
    return this.#watchers.size
  }

  /** At most a second old, unless it takes longer to read. */
  get(): Promise<T> {
    const startedAt = this.#runtime.monotonic()
    if (this.#latest && startedAt < this.#latest.until) return this.#latest.value
    // Shared until it is read: there is one read at a time.
    const latest = { value: this.#options.read(), until: Number.POSITIVE_INFINITY }
    this.#latest = latest
    latest.value.then(
      () => {
        const restMs = (this.#runtime.monotonic() - startedAt) * REST_FACTOR
        this.#restMs = Math.max(this.#options.maxAgeMs ?? 1_000, Math.min(restMs, MAX_REST_MS))
        latest.until = startedAt + this.#restMs
      },
      () => {
        this.#latest = undefined
      },
    )
    return latest.value
  }

  /** The current value, then each changed one, at most once a second. */
  async *watch(signal: AbortSignal): AsyncGenerator<T, void> {
    const changed = new Signal(this.#runtime)
    let next: { readonly value: T } | undefined
    let version: string | undefined
    const watcher = (value: T) => {
      next = { value }
      changed.raise()
    }
    this.#watchers.add(watcher)
    signal.addEventListener('abort', changed.raise, { once: true })
    this.#loop.start()
    try {
      watcher(await this.get())
      for (;;) {
        await changed.wait()
        signal.throwIfAborted()
        if (!next) continue
        const nextVersion = this.#options.versionOf(next.value)
        if (nextVersion === version) continue
        version = nextVersion
        yield next.value
      }
    } finally {
      signal.removeEventListener('abort', changed.raise)
      this.#watchers.delete(watcher)
      if (this.#watchers.size === 0) void this.#loop.stop()
    }
  }

  async stop(): Promise<void> {
    this.#watchers.clear()
    await this.#loop.stop()
  }

  /** While the database is away, watchers keep the value they have. */
  async #poll(): Promise<number> {
    const value = await this.get()
    for (const watcher of this.#watchers) watcher(value)
    return this.#restMs
  }
}
