import { OncueError } from '@oncue/core'
import type { BulkOperationRow } from '@oncue/db'
import { Signal } from '@oncue/runtime'
import type { StateHub } from './states.ts'

/** The id of a message: a client that reconnects with it gets only later changes. */
const versionOf = ({ step, status }: BulkOperationRow) => `${step}-${status}`

/**
 * The bulk operation now, and whenever it has advanced, a few times a second at most. Ends when it has ended, or, if
 * asked, when the outcome of all its jobs is known.
 */
export async function* watchBulkOperation(
  bulkOperations: StateHub<BulkOperationRow>,
  id: string,
  { lastSeen, outcomes }: { readonly lastSeen: string | null | undefined; readonly outcomes: boolean },
  signal: AbortSignal,
): AsyncGenerator<{ readonly id: string; readonly operation: BulkOperationRow }, void> {
  const changed = new Signal()
  let next: BulkOperationRow | null | undefined
  let failure: { readonly reason: unknown } | undefined
  let told = lastSeen
  const fail = (reason: unknown) => {
    failure ??= { reason }
    changed.raise()
  }
  const see = (state: BulkOperationRow | null) => {
    next = state
    changed.raise()
  }
  const onAbort = () => fail(signal.reason)
  const leave = bulkOperations.watch(id, { see, fail }, { isInHurry: true })
  try {
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    for (;;) {
      await changed.wait()
      if (failure) throw failure.reason
      if (next === null) throw new OncueError('BULK_OPERATION_NOT_FOUND', `There is no bulk operation ${id}`)
      if (!next) continue
      const operation: BulkOperationRow = next
      const version = versionOf(operation)
      if (version !== told) yield { id: version, operation }
      told = version
      if (operation.finishedAt && !(outcomes && hasUnknown(operation))) return
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    leave()
  }
}

/** A job that failed again has its outcome, also if it will be retried, which may take days. */
function hasUnknown({ isOpen, outcomes }: BulkOperationRow): boolean {
  return isOpen && outcomes !== null && outcomes.waiting + outcomes.running > 0
}
