import { type JobDefinition, OncueError, type Transactions } from '@oncue/core'
import { asSignal, encodeJson } from '@oncue/core/internal'
import type { ClaimedJob, CommitStatements, CompletedRun, Transaction } from '@oncue/db'
import { isRepeatable } from '@oncue/db/commits'
import { backoff, type Runtime } from '@oncue/runtime'
import { comesNoFurther, isUndoing } from './durable/undo.ts'
import { encodeResult } from './outcome.ts'
import { ownTransactions } from './own-transactions.ts'
import { assertCallName, assertNotNested, runWithin } from './steps.ts'

/** What a commit needs of its run: in an isolated process each is a call to the worker. */
export interface CommitRecord {
  /** Claims the name for this run, and returns the result that an earlier run recorded. Throws as that of a step. */
  begin(name: string): Promise<{ readonly result: unknown } | { readonly attempts: number }>
  /** Before each attempt: what must be recorded before it is. Returns the key of its outcome. */
  beginCommit(name: string): Promise<string>
  /** After each attempt: the result, if it was recorded. `isSent`: only the store knows. */
  endCommit(name: string, isSent: boolean): Promise<{ readonly result: unknown } | null>
  pauseCommit(ms: number): Promise<void>
  /** Recorded if the handler survives it. Resolves when the handler may hear of it. */
  fail(name: string, error: unknown): Promise<void>
}

export interface CommitOptions {
  readonly record: CommitRecord
  readonly statements: CommitStatements
  readonly job: Pick<ClaimedJob, 'id' | 'run'>
  /** Whose run it is. */
  readonly worker: string | undefined
  readonly runtime: Runtime
}

type Work = (tx: unknown) => unknown

/** Of a transaction that loses to others. */
const ATTEMPTS = 10
const BACKOFF = { firstMs: 10, maxMs: 1_000 }

/**
 * `ctx.commit`: a step whose result is the last statement of the transaction that its work writes through. It runs again as
 * long as it fails by no fault of its own.
 */
export async function commit(
  transactions: Transactions,
  name: string,
  work: Work,
  options: CommitOptions,
): Promise<unknown> {
  assertNotNested('commit')
  assertCallName(name, 'commit')
  const { record, runtime } = options
  const begun = await record.begin(name)
  if ('result' in begun) return begun.result
  try {
    for (let attempt = 1; ; attempt++) {
      const key = await record.beginCommit(name)
      const { isSent, failed } = await transact(transactions, name, work, key, options)
      const committed = await record.endCommit(name, isSent)
      if (committed) return committed.result
      if (!failed) throw notCommitted(name)
      if (!isRepeatable(failed.error) || attempt === ATTEMPTS) throw failed.error
      await record.pauseCommit(backoff(attempt, BACKOFF, runtime))
    }
  } catch (error) {
    await record.fail(name, error)
    throw error
  }
}

/** `isSent`: its last statement was. From then on only the store knows whether it was committed. */
async function transact(
  { mode, open, within }: Transactions,
  name: string,
  work: Work,
  key: string,
  { statements, job: { id, run }, worker }: CommitOptions,
): Promise<{ readonly isSent: boolean; readonly failed?: { readonly error: unknown } }> {
  let isSent = false
  const writeRows = (tx: unknown) => runWithin('commit', name, () => work(tx))
  const writeResult = (tx: Transaction, result: unknown) => {
    const data = encode(name, result)
    isSent = true
    return statements.commit({ id, run, worker, key, data }, tx)
  }
  try {
    await open((tx) => {
      const own = within(tx) as Transaction
      if (mode === 'sync') return writeResult(own, assertSynchronous(name, writeRows(tx)))
      return statements.openCommit(own).then(async () => writeResult(own, await writeRows(tx)))
    })
    return { isSent }
  } catch (error) {
    return { isSent, failed: { error } }
  }
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

function notCommitted(name: string): OncueError {
  const message = `the transaction of the commit ${JSON.stringify(name)} ended, and was not committed`
  return new OncueError('UNSUPPORTED_TRANSACTION', message, {
    hint: 'Neither commit nor roll back within the work of ctx.commit: throw to roll back.',
  })
}

// --- ctx.complete

interface Completing {
  readonly transactions: Transactions | undefined
  readonly definition: Pick<JobDefinition, 'output'>
  readonly job: Pick<ClaimedJob, 'id' | 'run' | 'topic' | 'ending'>
  readonly worker: string | undefined
  /** Throws if the run is over, or calls that write are not done. */
  readonly assertMay: () => void
}

/** What `ctx.complete` sends through the transaction. Throws what it refuses. */
export function completionOf(
  tx: unknown,
  value: unknown,
  { transactions, definition, job, worker, assertMay }: Completing,
): { readonly own: Transaction; readonly completed: CompletedRun } {
  const own = ownTransactions(transactions, 'complete').within(tx) as Transaction
  assertNotNested('complete')
  // Thrown, and not held like other new calls: the transaction must not stay open.
  if (isUndoing(job)) throw comesNoFurther()
  assertMay()
  const { id, run, topic } = job
  return { own, completed: { id, run, worker, result: encodeCompletion(value, definition, topic) } }
}

function encodeCompletion(value: unknown, definition: Pick<JobDefinition, 'output'>, topic: string) {
  try {
    return encodeResult(value, definition, topic)
  } catch (error) {
    // Not retried: another run would give the same.
    throw asSignal(error as OncueError, { kind: 'permanent' })
  }
}
