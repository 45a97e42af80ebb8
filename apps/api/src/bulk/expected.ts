import { OncueError } from '@oncue/core'
import type { BulkOperationRow } from '@oncue/db'

/** A count differs from the expected one if it is off by more than both. */
const FAR = { share: 0.1, jobs: 10 }

/** A preview counts no further: a caller who expects this many saw "at least". */
const PREVIEWED = 100_000

/** If counting stopped at its limit, the preview stopped there too, and only a smaller expected count is wrong. */
export function assertExpected(
  { total, totalIsExact }: Pick<BulkOperationRow, 'total' | 'totalIsExact'>,
  expected: number,
): void {
  if (expected === PREVIEWED && total >= PREVIEWED) return
  const off = totalIsExact ? Math.abs(total - expected) : total - expected
  if (off <= FAR.jobs || off <= FAR.share * expected) return
  const count = totalIsExact ? `${total}` : `At least ${total}`
  throw new OncueError('COUNT_MISMATCH', `${count} jobs match, but ${expected} were expected`, {
    details: { count: total, countIsExact: totalIsExact, expectedCount: expected },
  })
}
