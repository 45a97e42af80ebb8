import { type Runtime, systemRuntime } from '@oncue/runtime'

export interface BatcherOptions<Item> {
  readonly maxItems: number
  /** How many batches are under way at once. */
  readonly maxAtOnce: number
  readonly maxSize?: number | undefined
  readonly sizeOf?: ((item: Item) => number) | undefined
  readonly runtime?: Runtime | undefined
}

/**
 * Handles items in batches. Items that arrive while a batch is under way share the next one: no item waits to be joined by
 * others, and under load many share one round trip. `work` returns a result for each item, in their order.
 */
export class Batcher<Item, Result> {
  readonly #work: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly #options: BatcherOptions<Item>
  readonly #runtime: Runtime
  readonly #batches = new Set<Promise<void>>()
  #waiting: Waiting<Item, Result>[] = []

  constructor(
    work: (items: readonly Item[]) => Promise<readonly Result[]>,
    { runtime = systemRuntime, ...options }: BatcherOptions<Item>,
  ) {
    this.#work = work
    this.#options = options
    this.#runtime = runtime
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      // Items of one turn of the event loop share a batch.
      if (this.#waiting.length === 1) this.#runtime.after(0, () => this.#start())
    })
  }

  /** Resolves when every item has been handled. */
  async flush(): Promise<void> {
    this.#start()
    while (this.#batches.size > 0) await Promise.all(this.#batches)
  }

  #start(): void {
    while (this.#waiting.length > 0 && this.#batches.size < this.#options.maxAtOnce) {
      const batch = this.#run(this.#take()).finally(() => {
        this.#batches.delete(batch)
        this.#start()
      })
      this.#batches.add(batch)
    }
  }

  /** At least one item, however large. */
  #take(): Waiting<Item, Result>[] {
    const { maxItems, maxSize = Number.POSITIVE_INFINITY, sizeOf = () => 0 } = this.#options
    let size = 0
    const end = this.#waiting.findIndex(({ item }, n) => {
      size += sizeOf(item)
      return n > 0 && (n === maxItems || size > maxSize)
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  async #run(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#work(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, n) => {
        resolve(results[n] as Result)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}
