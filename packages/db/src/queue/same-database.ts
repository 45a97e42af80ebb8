import { isOncueError, OncueError, type Transactions } from '@oncue/core'
import type { Runtime } from '@oncue/runtime'
import { renamed, renameTo } from '../schema.ts'
import type { Store } from '../store.ts'
import { isRepeatable } from './repeatable.ts'
import { driveIn, type Row, type Steps, type Transaction } from './transaction.ts'

/** Names that no other process uses, for as long as the check takes. */
const CHECK_MS = 60_000

type Place = Pick<Store, 'dialect' | 'schema'>

/** Throws OTHER_DATABASE unless rows that the store writes are seen in these transactions. */
export function assertSameDatabase(
  store: Store,
  transactions: Transactions,
  runtime: Runtime,
): Promise<void> {
  return whileMarked(store, runtime, (mark) => assertSees(store, transactions, mark))
}

/** While `look` runs, there is a row of this name, for `assertSees`. */
export async function whileMarked<T>(
  store: Pick<Store, 'lead' | 'stepDown'>,
  runtime: Runtime,
  look: (mark: string) => Promise<T>,
): Promise<T> {
  const mark = `transactions:${runtime.uuid()}`
  const by = runtime.uuid()
  await store.lead(mark, by, CHECK_MS)
  try {
    return await look(mark)
  } finally {
    await store.stepDown(mark, by).catch(() => {})
  }
}

/** Throws OTHER_DATABASE unless the row of this name is seen in these transactions. */
export async function assertSees(place: Place, transactions: Transactions, mark: string): Promise<void> {
  let isSeen: boolean
  try {
    isSeen = await sees(place, transactions, mark)
  } catch (cause) {
    if (isRepeatable(cause) || isOncueError(cause)) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw otherDatabase(`: ${why}`, { cause })
  }
  if (!isSeen) throw otherDatabase('')
}

function otherDatabase(why: string, options?: { cause: unknown }): OncueError {
  const message = `the transactions given to defineWorkers are not on the database of the worker${why}`
  return new OncueError('OTHER_DATABASE', message, options)
}

async function sees(
  { dialect, schema }: Place,
  { open, within }: Transactions,
  name: string,
): Promise<boolean> {
  const mark = dialect === 'postgres' ? '$1' : '?'
  const table = dialect === 'postgres' ? 'oncue.leaders' : 'oncue_leaders'
  function* steps(): Steps<Row[]> {
    return yield { text: `select name from ${table} where name = ${mark}`, values: [name], reads: true }
  }
  let seen: Promise<Row[]> = Promise.resolve([])
  await open((tx) => {
    seen = driveIn(within(tx) as Transaction, renamed(steps(), renameTo(schema, dialect)))
    // A failure reaches the library, which rolls back.
    return seen
  })
  return (await seen).length > 0
}
