/** Keeps answers for a while, so that a busy server asks the database once where many requests need the same. */
export class TtlCache<Answer> {
  readonly #keepMs: number
  readonly #maxKeys: number
  readonly #answers = new Map<string, { readonly until: number; readonly answer: Promise<Answer> }>()

  constructor(keepMs: number, maxKeys: number) {
    this.#keepMs = keepMs
    this.#maxKeys = maxKeys
  }

  get(key: string, load: () => Promise<Answer>): Promise<Answer> {
    const now = performance.now()
    const known = this.#answers.get(key)
    if (known && known.until > now) return known.answer
    // Whoever sends a million wrong tokens makes them be forgotten, not the memory full.
    if (this.#answers.size >= this.#maxKeys) this.#answers.clear()
    const answer = load()
    const entry = { until: now + this.#keepMs, answer }
    this.#answers.set(key, entry)
    answer.catch(() => {
      if (this.#answers.get(key) === entry) this.#answers.delete(key)
    })
    return answer
  }

  forget(): void {
    this.#answers.clear()
  }
}
