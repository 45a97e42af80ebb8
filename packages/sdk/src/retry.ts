import type { OncueError } from '@oncue/core'
import { systemClock } from '@oncue/core/internal'

const FIRST_MS = 100
const LONGEST_MS = 5_000
/** If the API asks for a longer pause, the caller gets the error instead of hanging. */
const PATIENCE_MS = 10_000

/** How long to wait before a retry; null: do not retry. `attempt` counts from 0. */
export function pauseBefore(
  error: OncueError,
  attempt: number,
  { retries, isSafe }: { readonly retries: number; readonly isSafe: boolean },
): number | null {
  if (attempt >= retries || !error.retryable) return null
  if (error.code === 'RATE_LIMITED') {
    // Rejected before it had any effect, so a retry is safe for every call.
    const told = Number(error.details?.retryAfterSeconds ?? 1) * 1_000
    return told > PATIENCE_MS ? null : told
  }
  if (!isSafe) return null
  const full = Math.min(FIRST_MS * 2 ** attempt, LONGEST_MS)
  return full / 2 + (systemClock.random() * full) / 2
}
