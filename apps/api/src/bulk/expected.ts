import { OncueError } from '@oncue/core'
import type { OperationRow } from '@oncue/db'

/** A count is far from what was expected if it is off by more than both. */
const FAR = { share: 0.1, jobs: 10 }

/** A preview counts no further: who expects so many was told "at least". */
const PREVIEWED = 100_000

/** Where counting stopped, "at least so many" is what the preview said too, and only more can be wrong. */
export function assertExpected(
  { total, totalIsExact }: Pick<OperationRow, 'total' | 'totalIsExact'>,
  expected: number,
): void {
  if (expected === PREVIEWED && total >= PREVIEWED) return
  const off = totalIsExact ? Math.abs(total - expected) : total - expected
  if (off <= FAR.jobs || off <= FAR.share * expected) return
  const count = totalIsExact ? `${total}` : `At least ${total}`
  throw new OncueError('COUNT_MISMATCH', `${count} jobs match, and ${expected} were expected`, {
    details: { count: total, countIsExact: totalIsExact, expectedCount: expected },
  })
}
