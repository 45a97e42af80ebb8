/** Repeatable random numbers: the same start gives the same test (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  /** A random selection; most often none. */
  some<T>(items: readonly T[], most: number): T[] {
    const count = Math.min(items.length, this.below(most + 1))
    const left = [...items]
    return Array.from({ length: count }, () => left.splice(this.below(left.length), 1)[0] as T)
  }
}
