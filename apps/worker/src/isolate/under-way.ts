import { notAwaited } from '../run/own-transactions.ts'

/** The calls of a handler that write and are not done. */
export class UnderWay {
  readonly #calls = new Set<readonly [call: string, name: string]>()

  /** Until what it returns is called. */
  begin(call: string, name: string): () => void {
    const begun = [call, name] as const
    this.#calls.add(begun)
    return () => this.#calls.delete(begun)
  }

  async during<T>(call: string, name: string, work: () => Promise<T>): Promise<T> {
    const end = this.begin(call, name)
    try {
      return await work()
    } finally {
      end()
    }
  }

  assertNone(): void {
    if (this.#calls.size === 0) return
    throw notAwaited([...this.#calls].map(([call, name]) => `${call} ${JSON.stringify(name)}`))
  }
}
