/**
 * Does together what comes while the last of it is still under way: nobody waits for company, and under load
 * many share one round trip. `work` answers for each item, in their order.
 */
export class Batcher<Item, Answer> {
  readonly #work: (items: readonly Item[]) => Promise<readonly Answer[]>
  readonly #sizeOf: (item: Item) => number
  readonly #maxItems: number
  readonly #maxSize: number
  readonly #maxAtOnce: number
  #waiting: Waiting<Item, Answer>[] = []
  #atOnce = 0

  constructor(
    work: (items: readonly Item[]) => Promise<readonly Answer[]>,
    options: {
      readonly maxItems: number
      readonly maxAtOnce: number
      readonly maxSize?: number
      readonly sizeOf?: (item: Item) => number
    },
  ) {
    this.#work = work
    this.#maxItems = options.maxItems
    this.#maxAtOnce = options.maxAtOnce
    this.#maxSize = options.maxSize ?? Number.POSITIVE_INFINITY
    this.#sizeOf = options.sizeOf ?? (() => 0)
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      // Those who come in the same turn of the event loop go together.
      if (this.#waiting.length === 1) setImmediate(() => this.#start())
    })
  }

  #start(): void {
    while (this.#waiting.length > 0 && this.#atOnce < this.#maxAtOnce) {
      this.#atOnce += 1
      void this.#run(this.#take())
    }
  }

  /** At least one, however large it is. */
  #take(): Waiting<Item, Answer>[] {
    let size = 0
    const end = this.#waiting.findIndex(({ item }, n) => {
      size += this.#sizeOf(item)
      return n > 0 && (n === this.#maxItems || size > this.#maxSize)
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  async #run(batch: readonly Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#work(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, n) => {
        resolve(answers[n] as Answer)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      this.#atOnce -= 1
      this.#start()
    }
  }
}

interface Waiting<Item, Answer> {
  readonly item: Item
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}
