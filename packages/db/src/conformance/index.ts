import { describe } from 'vitest'
import { describeClaim } from './claim.ts'
import { describeEnqueue } from './enqueue.ts'
import type { Dialect } from './harness.ts'
import { describeLease } from './lease.ts'
import { describeProcesses } from './processes.ts'
import { describeReads } from './reads.ts'
import { describeSettle } from './settle.ts'
import { describeTransactions } from './transactions.ts'

export { type Dialect, TestClock, type TransactionKind } from './harness.ts'

/** What every store must do, on a real database. Run for each dialect; a skip needs a capability flag and a reason. */
export function describeStore(dialect: Dialect): void {
  describe(`${dialect.name} store`, () => {
    describeEnqueue(dialect)
    describeTransactions(dialect)
    describeClaim(dialect)
    describeSettle(dialect)
    describeLease(dialect)
    describeReads(dialect)
    describeProcesses(dialect)
  })
}
