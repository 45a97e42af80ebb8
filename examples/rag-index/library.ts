/** Stands for a document store, an embedding model and a vector index. */
export class Library {
  readonly #texts = new Map<string, string>()
  readonly #chunks = new Map<string, Map<number, { text: string; vector: number[] }>>()
  readonly #ready = new Set<string>()

  add(sourceId: string, text: string): void {
    this.#texts.set(sourceId, text)
  }

  text(sourceId: string): string | undefined {
    return this.#texts.get(sourceId)
  }

  /** Forgets what was indexed before. */
  clear(sourceId: string): void {
    this.#chunks.set(sourceId, new Map())
    this.#ready.delete(sourceId)
  }

  store(sourceId: string, index: number, text: string, vector: number[]): void {
    this.#chunks.get(sourceId)?.set(index, { text, vector })
  }

  finish(sourceId: string): void {
    this.#ready.add(sourceId)
  }

  isReady(sourceId: string): boolean {
    return this.#ready.has(sourceId)
  }

  /** The chunk that is nearest to a question, of sources that are indexed completely. */
  search(question: string): string | undefined {
    const wanted = embed(question)
    const chunks = [...this.#ready].flatMap((id) => [...(this.#chunks.get(id)?.values() ?? [])])
    const near = (vector: number[]) => vector.reduce((sum, x, i) => sum + x * (wanted[i] ?? 0), 0)
    return chunks.sort((a, b) => near(b.vector) - near(a.vector))[0]?.text
  }
}

const DIMENSIONS = 256

/** Counts words, each at an index computed from its letters. */
export function embed(text: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0)
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    const place = [...word].reduce((hash, letter) => (hash * 31 + letter.charCodeAt(0)) % DIMENSIONS, 7)
    vector[place] = (vector[place] ?? 0) + 1
  }
  const length = Math.hypot(...vector) || 1
  return vector.map((x) => x / length)
}

export const split = (text: string): string[] => text.split(/(?<=[.!?])\s+/)
