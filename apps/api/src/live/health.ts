import type { Health } from '@oncue/core'
import type { Store } from '@oncue/db'
import { Inbox } from './inbox.ts'

/** The numbers of everything, computed at most once a second for all who ask and all who watch. */
export class HealthBoard {
  readonly #store: Store
  readonly #maxAgeMs: number
  readonly #watchers = new Set<(health: Health) => void>()
  #latest: { readonly at: number; readonly health: Promise<Health> } | undefined
  #poll: NodeJS.Timeout | undefined

  constructor(store: Store, maxAgeMs = 1_000) {
    this.#store = store
    this.#maxAgeMs = maxAgeMs
  }

  /** How many watch. */
  get size(): number {
    return this.#watchers.size
  }

  /** At most a second old. */
  get(): Promise<Health> {
    const now = performance.now()
    if (this.#latest && now - this.#latest.at < this.#maxAgeMs) return this.#latest.health
    const health = readHealth(this.#store)
    this.#latest = { at: now, health }
    health.catch(() => {
      this.#latest = undefined
    })
    return health
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
    this.#poll ??= setTimeout(() => void this.#look(), this.#maxAgeMs)
    try {
      watcher(await this.get())
      for (;;) {
        await inbox.wait()
        signal.throwIfAborted()
        if (!next) continue
        const { now: _, ...numbers } = next
        const text = JSON.stringify(numbers)
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

  async #look(): Promise<void> {
    try {
      const health = await this.get()
      for (const watcher of this.#watchers) watcher(health)
    } catch {
      // A database that is away comes back; until then the numbers stay what they were.
    }
    this.#poll = this.#watchers.size > 0 ? setTimeout(() => void this.#look(), this.#maxAgeMs) : undefined
  }
}

async function readHealth(store: Store): Promise<Health> {
  const [now, queues, workers] = await Promise.all([store.now(), store.queues(), store.workers()])
  const present = workers.filter((worker) => worker.missingSince === null)
  return {
    now,
    dialect: store.dialect,
    queues,
    workers: {
      alive: present.length,
      missing: workers.length - present.length,
      slots: present.reduce((sum, worker) => sum + worker.concurrency, 0),
      running: workers.reduce((sum, worker) => sum + worker.running, 0),
    },
  }
}
