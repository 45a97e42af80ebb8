import type { ResultOfJob } from './context.ts'
import type { JobDefinitions, TopicOf } from './jobs.ts'
import type { ReturnsStorable, Stored } from './storable.ts'

/**
 * Opens transactions of your own library, on the database of the jobs: for `ctx.commit` and `ctx.complete`. Made by
 * `transactionsOf`; `Tx` is the library's own type.
 */
export interface Transactions<Tx = unknown, Mode extends TransactionMode = TransactionMode> {
  /** `sync`: a transaction ends when its function returns, as with better-sqlite3. */
  readonly mode: Mode
  /** Opens a transaction, gives it to `work`, and commits when that has ended. What it throws rolls back. */
  open(work: (tx: Tx) => unknown): Promise<void>
  /** A transaction as Oncue's own statements use it. Throws UNSUPPORTED_TRANSACTION if it is none. */
  within(tx: Tx): object
}

type TransactionMode = 'async' | 'sync'

/** What a handler is given without `transactions`: nothing that can be called. */
export type NoTransactions = undefined

/** `ctx.commit`, by the transactions that the workers were given. */
export type Commit<Given> =
  Given extends Transactions<infer Tx, infer Mode>
    ? <Result>(
        name: string,
        work: ((tx: Tx) => 'sync' extends Mode ? Result : Result | Promise<Result>) & ReturnsStorable<Result>,
      ) => Promise<Stored<Result>>
    : unknown

/** `ctx.complete`, by the transactions that the workers were given. */
export type Complete<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>, Given> =
  Given extends Transactions<infer Tx>
    ? (tx: Tx, ...result: ResultOfJob<Jobs, Topic>) => Promise<void>
    : unknown
