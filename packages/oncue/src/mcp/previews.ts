import { OncueError } from '@oncue/core'
import { type Runtime, systemRuntime } from '@oncue/runtime'

/** An assistant may come back to a preview, but not to one of another conversation. */
const VALID_MS = 30 * 60_000
const KEPT = 100

interface Preview<Value> {
  readonly value: Value
  readonly expires: number
  outcome?: Promise<unknown>
}

/** What was previewed in this process. An action takes the id of a preview, and nothing else says what it acts on. */
export class Previews<Value> {
  readonly #kept = new Map<string, Preview<Value>>()
  readonly #runtime: Runtime

  constructor(runtime: Runtime = systemRuntime) {
    this.#runtime = runtime
  }

  add(value: Value): string {
    const id = this.#runtime.uuid()
    this.#kept.set(id, { value, expires: this.#runtime.monotonic() + VALID_MS })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > KEPT && oldest !== undefined) this.#kept.delete(oldest)
    return id
  }

  /**
   * A preview is acted on once: a repeated call gets the outcome of the first, unless that failed. `check` throws for a call
   * that is none of this preview.
   */
  act(id: string, check: (value: Value) => void, work: (value: Value) => Promise<unknown>): Promise<unknown> {
    const preview = this.#kept.get(id)
    if (!preview || this.#runtime.monotonic() >= preview.expires)
      throw new OncueError('INVALID_INPUT', `There is no preview ${id}, or it is older than 30 min`, {
        hint: 'Preview the action again, show what it would do, and pass the new id.',
      })
    check(preview.value)
    preview.outcome ??= work(preview.value).catch((error: unknown) => {
      delete preview.outcome
      throw error
    })
    return preview.outcome
  }
}
