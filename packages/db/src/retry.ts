import type { OncueError } from '@oncue/core'

/** Marks an error of a call of which nothing reached the database. */
export const NOT_SENT = Symbol('nothing reached the database')

const ATTEMPTS = 5
const FIRST_DELAY_MS = 10

/**
 * Sends again what failed for a passing reason: a serialization conflict, a busy file, a lost
 * connection. `isSafe` decides which failures leave no doubt about what was written.
 */
export async function withRetries<T>(
  attempt: (n: number) => Promise<T> | T,
  toError: (error: unknown) => OncueError,
  isSafe: (error: OncueError) => boolean = (error) => error.retryable,
): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await attempt(n)
    } catch (cause) {
      const error = toError(cause)
      if (n === ATTEMPTS || !error.retryable || !isSafe(error)) throw error
      // Jitter keeps callers that collided from colliding again.
      await delay(FIRST_DELAY_MS * 4 ** (n - 1) * (0.5 + Math.random()))
    }
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
