import { isOncueError, type JobContext, type JobDefinition, OncueError, type Transactions } from '@oncue/core'
import type { ClaimedJob, CommitStatements } from '@oncue/db'
import { assertSees, commitsOf } from '@oncue/db/commits'
import { systemRuntime } from '@oncue/runtime'
import { type CommitRecord, commit, completionOf } from '../run/commit.ts'
import { unawaited, unawaitedAtEnd } from '../run/unawaited.ts'
import type { CommitsOf } from './messages.ts'
import type { UnderWay } from './under-way.ts'

/** What they need of the context in this process, and of the one in the worker. */
export interface CommitsLine {
  readonly record: CommitRecord & { readonly isEnding: boolean }
  readonly underWay: UnderWay
  readonly assertMine: () => void
  /** The worker hears that the job may be over. */
  beginComplete(): Promise<void>
  /** The name of a row that the worker has written, for `assertSees`. */
  mark(): Promise<string>
  unmark(mark: string): void
}

/** Those that are on the database of the worker. */
const seen = new WeakMap<Transactions, Promise<void>>()

/**
 * `ctx.commit` and `ctx.complete` of an isolated handler. The transaction is in this process, and so are its statements. What
 * the worker must know of it goes through the channel.
 */
export class ChildCommits {
  readonly #job: ClaimedJob
  readonly #definition: JobDefinition
  readonly #transactions: Transactions
  readonly #of: CommitsOf
  readonly #line: CommitsLine
  readonly #statements: CommitStatements
  #hasFailed = false

  constructor(
    job: ClaimedJob,
    definition: JobDefinition,
    transactions: Transactions,
    of: CommitsOf,
    line: CommitsLine,
  ) {
    this.#job = job
    this.#definition = definition
    this.#transactions = transactions
    this.#of = of
    this.#line = line
    this.#statements = commitsOf(of, systemRuntime)
  }

  readonly commit = ((name: string, work: (tx: unknown) => unknown) => {
    const { record, underWay } = this.#line
    const checked: Transactions = {
      ...this.#transactions,
      open: async (within) => {
        await this.#assertSameDatabase()
        return this.#transactions.open(within)
      },
    }
    const { worker } = this.#of
    const options = { record, statements: this.#statements, job: this.#job, worker, runtime: systemRuntime }
    const committed = underWay.during('commit', name, () => commit(checked, name, work, options))
    return unawaitedAtEnd(committed, record)
  }) as JobContext['commit']

  readonly complete = ((tx: unknown, result?: unknown) => {
    if (this.#transactions.mode !== 'sync') return unawaited(this.#completeLater(tx, result))
    const { own, completed } = this.#completion(tx, result)
    // Told before the statement is sent; the worker cannot answer before the transaction ends.
    void unawaited(this.#line.beginComplete())
    try {
      return this.#statements.complete(completed, own)
    } catch (error) {
      this.#hasFailed = true
      throw error
    }
  }) as JobContext['complete']

  async #completeLater(tx: unknown, result: unknown): Promise<void> {
    const { own, completed } = this.#completion(tx, result)
    try {
      await this.#statements.complete(completed, own, () => this.#line.beginComplete())
    } catch (error) {
      this.#hasFailed = true
      throw error
    }
  }

  #completion(tx: unknown, result: unknown): ReturnType<typeof completionOf> {
    return completionOf(tx, result, {
      transactions: this.#transactions,
      definition: this.#definition,
      job: this.#job,
      worker: this.#of.worker,
      assertMay: () => {
        this.#line.assertMine()
        this.#line.underWay.assertNone()
      },
    })
  }

  /** Why a handler has failed: `ctx.complete` cannot look for another database while its transaction is open. */
  async whyFailed(error: unknown): Promise<unknown> {
    if (!this.#hasFailed) return error
    return this.#assertSameDatabase().then(
      () => error,
      (why: unknown) => (isOncueError(why, 'OTHER_DATABASE') ? why : error),
    )
  }

  /** Of the modules as this process has loaded them, which has other environment variables than the worker. */
  #assertSameDatabase(): Promise<void> {
    const transactions = this.#transactions
    const known = seen.get(transactions)
    if (known) return known
    const looking = this.#look()
    seen.set(transactions, looking)
    looking.catch(() => seen.delete(transactions))
    return looking
  }

  async #look(): Promise<void> {
    const mark = await this.#line.mark()
    try {
      await assertSees(this.#of, this.#transactions, mark)
    } catch (error) {
      if (!isOncueError(error, 'OTHER_DATABASE')) throw error
      const message = `${error.message}; the process of an isolated handler has only the environment variables that its topic names: isolate: { env: ['DATABASE_URL'] }`
      throw new OncueError('OTHER_DATABASE', message, { cause: error.cause })
    } finally {
      this.#line.unmark(mark)
    }
  }
}
