import { OncueError } from '@oncue/core'

/** What a run releases when it ends: `ctx.defer`. */
export class Deferred {
  readonly #releases: (() => unknown)[] = []
  #isOver = false

  get isEmpty(): boolean {
    return this.#releases.length === 0
  }

  add(release: unknown): void {
    if (typeof release !== 'function') {
      throw new OncueError('INVALID_INPUT', 'ctx.defer takes a function, which is called when the run ends')
    }
    if (this.#isOver) throw new OncueError('STALE_RUN', 'ctx.defer was called after the end of the run')
    this.#releases.push(release as () => unknown)
  }

  /** The last one first, one after the other. Never rejects. */
  async run(onError: (error: unknown) => void): Promise<void> {
    this.#isOver = true
    for (let release = this.#releases.pop(); release; release = this.#releases.pop()) {
      try {
        await release()
      } catch (error) {
        onError(error)
      }
    }
  }
}
