import { OncueError } from '@oncue/core'
import type { OperationRow } from '@oncue/db'
import { Inbox } from './inbox.ts'
import type { StateHub } from './states.ts'

/** How far an operation is. The id of a message: who comes back with it is told what changed since. */
const versionOf = ({ step, status }: OperationRow) => `${step}-${status}`

/** An operation now, and again whenever it has got further, a few times a second at most. Ends with its end. */
export async function* watchOperation(
  operations: StateHub<OperationRow>,
  id: string,
  lastSeen: string | null | undefined,
  signal: AbortSignal,
): AsyncGenerator<{ readonly id: string; readonly operation: OperationRow }, void> {
  const inbox = new Inbox()
  let next: OperationRow | null | undefined
  let failure: { readonly reason: unknown } | undefined
  let told = lastSeen
  const fail = (reason: unknown) => {
    failure ??= { reason }
    inbox.ring()
  }
  const see = (state: OperationRow | null) => {
    next = state
    inbox.ring()
  }
  const onAbort = () => fail(signal.reason)
  const leave = operations.watch(id, { see, fail }, { isInHurry: true })
  try {
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    for (;;) {
      await inbox.wait()
      if (failure) throw failure.reason
      if (next === null) throw new OncueError('OPERATION_NOT_FOUND', `There is no operation ${id}`)
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
