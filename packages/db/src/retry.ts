import type { OncueError } from '@oncue/core'
import { backoff, type Runtime, systemRuntime } from '@oncue/runtime'

/** Marks an error of a call that did not reach the database. */
export const NOT_SENT = Symbol('nothing reached the database')

const ATTEMPTS = 5
/** Jitter keeps callers that collided from colliding again. */
const BACKOFF = { firstMs: 15, maxMs: 1_000, factor: 4, jitter: 2 / 3 }

/**
 * Retries what failed for a temporary reason: a serialization conflict, a busy file, a lost
 * connection. `isSafe` decides which failures leave no doubt about what was written. After the signal aborts
 * nothing more is sent.
 */
export async function withRetries<T>(
  attempt: (n: number) => Promise<T> | T,
  toError: (error: unknown) => OncueError,
  isSafe: (error: OncueError) => boolean = (error) => error.retryable,
  runtime: Runtime = systemRuntime,
  signal?: AbortSignal,
): Promise<T> {
  for (let n = 1; ; n++) {
    signal?.throwIfAborted()
    try {
      return await attempt(n)
    } catch (cause) {
      const error = toError(cause)
      signal?.throwIfAborted()
      if (n === ATTEMPTS || !error.retryable || !isSafe(error)) throw error
      await runtime.sleep(backoff(n - 1, BACKOFF, runtime))
    }
  }
}
