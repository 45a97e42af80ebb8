import { OncueError } from '@oncue/core'
import type { OperationRow } from '@oncue/db'
import { Signal } from '@oncue/runtime'
import type { StateHub } from './states.ts'

/** The id of a message: a client that reconnects with it gets only later changes. */
const versionOf = ({ step, status }: OperationRow) => `${step}-${status}`

/** The bulk operation now, and whenever it has advanced, a few times a second at most. Ends when it has ended. */
export async function* watchOperation(
  operations: StateHub<OperationRow>,
  id: string,
  lastSeen: string | null | undefined,
  signal: AbortSignal,
): AsyncGenerator<{ readonly id: string; readonly operation: OperationRow }, void> {
  const changed = new Signal()
  let next: OperationRow | null | undefined
  let failure: { readonly reason: unknown } | undefined
  let told = lastSeen
  const fail = (reason: unknown) => {
    failure ??= { reason }
    changed.raise()
  }
  const see = (state: OperationRow | null) => {
    next = state
    changed.raise()
  }
  const onAbort = () => fail(signal.reason)
  const leave = operations.watch(id, { see, fail }, { isInHurry: true })
  try {
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    for (;;) {
      await changed.wait()
      if (failure) throw failure.reason
      if (next === null) throw new OncueError('OPERATION_NOT_FOUND', `There is no bulk operation ${id}`)
      if (!next) continue
      const operation: OperationRow = next
      const version = versionOf(operation)
      if (version !== told) yield { id: version, operation }
      told = version
      if (operation.status !== 'running') return
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    leave()
  }
}
