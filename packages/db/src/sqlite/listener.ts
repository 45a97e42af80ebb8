import { resolve } from 'node:path'
import { OncueError } from '@oncue/core'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import type { Subscription } from '../store.ts'
import type { Driver } from './driver.ts'

/** The name of a queue, or null: anything may have changed. */
type Hear = (queue: string | null) => void

const POLL_MS = 5

/**
 * How the stores of this process learn of changes to a file. Each file has one connection for it,
 * shared by all stores of the process, which exists while there are listeners.
 */
class WatchedFile {
  readonly #hearers = new Set<{ readonly hear: Hear }>()
  readonly #stop: () => void

  constructor(driver: Driver, file: string, pollMs: number, runtime: Runtime, onStop: () => void) {
    const db = new driver(file, { readonly: true, fileMustExist: true, timeout: 0 })
    const read = db.prepare('PRAGMA data_version')
    const versionOf = () => (read.get() as { data_version: number }).data_version
    let version = versionOf()
    const look = () => {
      let current: number
      try {
        current = versionOf()
      } catch {
        // The file is busy, being recovered: the next poll will see it.
        return
      }
      if (current === version) return
      version = current
      this.tell(null)
    }
    const timer = runtime.every(pollMs, look)
    timer.unref()
    this.#stop = () => {
      runtime.cancel(timer)
      db.close()
      onStop()
    }
  }

  add(hear: Hear): () => void {
    const hearer = { hear }
    this.#hearers.add(hearer)
    return () => {
      if (this.#hearers.delete(hearer) && this.#hearers.size === 0) this.#stop()
    }
  }

  tell(queue: string | null): void {
    for (const { hear } of [...this.#hearers]) {
      try {
        hear(queue)
      } catch {
        // A listener that throws must not keep the others from being notified.
      }
    }
  }
}

const files = new Map<string, WatchedFile>()

/**
 * Wake-ups on SQLite. Enqueues of this process are announced at once, with the name of the queue. Writes of
 * others are seen in `PRAGMA data_version`, which reads a few bytes of shared memory.
 *
 * How many wake-ups: an enqueue wakes twice, at once and with the next poll; one of another process
 * or in a caller's transaction wakes once. A poll sees that something was written but not what,
 * so every commit by any process wakes every queue, at most 200 times a second. A wake-up that finds
 * nothing is a claim that writes nothing, and so wakes no other worker.
 */
export class SqliteListener {
  readonly #driver: Driver
  readonly #file: string
  readonly #pollMs: number
  readonly #runtime: Runtime
  readonly #subscriptions = new Set<Subscription>()
  #closed = false

  constructor(driver: Driver, file: string, pollMs: number = POLL_MS, runtime: Runtime = systemRuntime) {
    this.#driver = driver
    this.#file = resolve(file)
    this.#pollMs = pollMs
    this.#runtime = runtime
  }

  onWake(queues: readonly string[], wake: () => void): Promise<Subscription> {
    const wanted = new Set(queues)
    return this.#subscribe((queue) => {
      if (queue === null ? wanted.size > 0 : wanted.has(queue)) wake()
    })
  }

  /** Any write, by any process. */
  onChange(hear: () => void): Promise<Subscription> {
    return this.#subscribe((queue) => {
      if (queue === null) hear()
    })
  }

  /** After a commit of ours: for the subscribers in this process. */
  wake(queues: Iterable<string>): void {
    const file = files.get(this.#file)
    if (file) for (const queue of queues) file.tell(queue)
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const subscription of [...this.#subscriptions]) await subscription.close()
  }

  async #subscribe(hear: Hear): Promise<Subscription> {
    if (this.#closed) throw new OncueError('STORE_CLOSED', 'This store was closed')
    const remove = this.#watchedFile().add(hear)
    const subscription: Subscription = {
      close: async () => {
        if (this.#subscriptions.delete(subscription)) remove()
      },
    }
    this.#subscriptions.add(subscription)
    return subscription
  }

  #watchedFile(): WatchedFile {
    const known = files.get(this.#file)
    if (known) return known
    const onStop = () => void files.delete(this.#file)
    const file = new WatchedFile(this.#driver, this.#file, this.#pollMs, this.#runtime, onStop)
    files.set(this.#file, file)
    return file
  }
}
