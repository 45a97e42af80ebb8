import { OncueError, type Transactions } from '@oncue/core'
import { asSignal, encodeJson } from '@oncue/core/internal'
import type { ClaimedJob, Store, Transaction } from '@oncue/db'
import type { StepCalls } from './durable/step-calls.ts'
import { assertCallName, assertNotNested, runWithin } from './steps.ts'

export interface CommitOptions {
  readonly steps: StepCalls
  readonly store: Pick<Store, 'durable'>
  readonly job: ClaimedJob
  /** Whose run it is. */
  readonly worker: string | undefined
}

type Work = (tx: unknown) => unknown

/** `ctx.commit`: a step whose result is the last statement of the transaction that its work writes through. */
export async function commit(
  transactions: Transactions,
  name: string,
  work: Work,
  { steps, store, job, worker }: CommitOptions,
): Promise<unknown> {
  assertNotNested('commit')
  assertCallName(name, 'commit')
  const { mode, open, within } = transactions
  const begun = await steps.begin(name)
  if ('result' in begun) return begun.result
  return steps.commit(name, (key, onSent) => {
    const run = (tx: unknown) => runWithin('commit', name, () => work(tx))
    const record = (tx: Transaction, result: unknown) => {
      const data = encode(name, result)
      onSent()
      const { id, run } = job
      return store.durable.commit({ id, run, worker, key, data }, tx)
    }
    return open((tx) => {
      const own = within(tx) as Transaction
      if (mode === 'sync') return record(own, assertSynchronous(name, run(tx)))
      return store.durable.openCommit(own).then(async () => record(own, await run(tx)))
    })
  })
}

/** An object, because a result that is null is not a result that is missing. */
function encode(name: string, result: unknown): string {
  if (result === undefined) return '{}'
  try {
    return `{"result":${encodeJson(result, 'result')}}`
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'it cannot be read'
    const message = `the commit ${JSON.stringify(name)} was rolled back, because its result cannot be stored: ${why}`
    const error = new OncueError('INVALID_RESULT', message, { cause, hint: RESULT_HINT })
    // Not retried: another run would return the same.
    throw asSignal(error, { kind: 'permanent' })
  }
}

const RESULT_HINT = 'Return a small plain value from the commit, such as an id, or nothing.'

function assertSynchronous(name: string, result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('then' in result)) return result
  // It is not waited for, and its failure must not end the process.
  Promise.resolve(result).catch(() => {})
  const message = `the commit ${JSON.stringify(name)} returned a promise: with better-sqlite3 its transaction would end before the work`
  throw new OncueError('INVALID_INPUT', message, {
    hint: 'Make the function synchronous, and do what takes time in a step before it.',
  })
}
