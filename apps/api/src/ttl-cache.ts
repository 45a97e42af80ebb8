import { type Runtime, systemRuntime } from '@oncue/runtime'

type Clock = Pick<Runtime, 'monotonic'>

/** Caches results for a while, so that many requests for the same thing cost one query. Failures are not cached. */
export class TtlCache<Value> {
  readonly #ttlMs: number
  readonly #maxKeys: number
  readonly #clock: Clock
  readonly #entries = new Map<string, { readonly until: number; readonly value: Promise<Value> }>()

  constructor(ttlMs: number, maxKeys: number, clock: Clock = systemRuntime) {
    this.#ttlMs = ttlMs
    this.#maxKeys = maxKeys
    this.#clock = clock
  }

  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const now = this.#clock.monotonic()
    const cached = this.#entries.get(key)
    if (cached && cached.until > now) return cached.value
    // A flood of wrong tokens empties the cache instead of filling the memory.
    if (this.#entries.size >= this.#maxKeys) this.#entries.clear()
    const value = load()
    const entry = { until: now + this.#ttlMs, value }
    this.#entries.set(key, entry)
    value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    })
    return value
  }

  clear(): void {
    this.#entries.clear()
  }
}
