import type { Health } from '@oncue/core'
import type { Store } from '@oncue/db'
import { FactReader } from '../health/facts.ts'
import { measure } from '../health/measure.ts'
import { VERSION } from '../version.ts'
import { Inbox } from './inbox.ts'

/** Live jobs have to be counted: where there are millions it may take a fifth of the time, up to a limit. */
const REST_FACTOR = 5
const MAX_REST_MS = 10_000

/** The numbers of everything, computed at most once a second for all who ask and all who watch. */
export class HealthBoard {
  readonly #facts: FactReader
  readonly #about: Pick<Health, 'dialect' | 'version' | 'environment'>
  readonly #maxAgeMs: number
  #restMs: number
  readonly #watchers = new Set<(health: Health) => void>()
  #latest: { readonly health: Promise<Health>; until: number } | undefined
  #poll: NodeJS.Timeout | undefined

  constructor(store: Store, environment: string | null, maxAgeMs = 1_000) {
    this.#facts = new FactReader(store)
    this.#about = { dialect: store.dialect, version: VERSION, environment }
    this.#maxAgeMs = maxAgeMs
    this.#restMs = maxAgeMs
  }

  /** How many watch. */
  get size(): number {
    return this.#watchers.size
  }

  /** At most a second old, if they can be had that fast. */
  get(): Promise<Health> {
    if (this.#latest && performance.now() < this.#latest.until) return this.#latest.health
    const start = performance.now()
    // Nobody begins another while it is under way.
    const latest = { health: this.#read(), until: Number.POSITIVE_INFINITY }
    this.#latest = latest
    latest.health.then(
      () => {
        const restMs = (performance.now() - start) * REST_FACTOR
        this.#restMs = Math.max(this.#maxAgeMs, Math.min(restMs, MAX_REST_MS))
        latest.until = start + this.#restMs
      },
      () => {
        this.#latest = undefined
      },
    )
    return latest.health
  }

  /** The numbers now, and again whenever they have changed: at most once a second, and never those of before. */
  async *watch(signal: AbortSignal): AsyncGenerator<Health, void> {
    const inbox = new Inbox()
    let next: Health | undefined
    let told = ''
    const watcher = (health: Health) => {
      next = health
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
        const text = tellTaleOf(next)
        if (text === told) continue
        told = text
        yield next
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

  async #read(): Promise<Health> {
    return { ...this.#about, ...measure(await this.#facts.read()) }
  }

  async #look(): Promise<void> {
    try {
      const health = await this.get()
      for (const watcher of this.#watchers) watcher(health)
    } catch {
      // A database that is away comes back; until then the numbers stay what they were.
    }
    this.#poll = this.#watchers.size > 0 ? setTimeout(() => void this.#look(), this.#restMs) : undefined
  }
}

/** All but what changes by itself as time goes by: that is told once a minute, and whoever looks lets it tick. */
function tellTaleOf({ now, throughput: _, oldestWaiting, queues, ...rest }: Health): string {
  const minute = Math.trunc(now.getTime() / 60_000)
  return JSON.stringify([
    minute,
    rest,
    oldestWaiting.value,
    queues.map(({ throughput: _, ...queue }) => queue),
  ])
}
