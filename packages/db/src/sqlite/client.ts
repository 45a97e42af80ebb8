import type { OncueError } from '@oncue/core'
import { backoff, type Runtime, systemRuntime } from '@oncue/runtime'
import type { Database, Statement } from './driver.ts'
import { toOncueError } from './errors.ts'

type Task = {
  readonly run: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (e: unknown) => void
}
type Outcome = { readonly value: unknown } | { readonly error: unknown }

/** How long another process may hold the file before a write gives up. */
const BUSY_LIMIT_MS = 10_000
/**
 * Between two attempts on a file that another process holds: 5 to 15 ms, and 1 to 2 where writes wait: from
 * the end of a transaction to the next attempt nothing uses the file.
 */
const BUSY = { firstMs: 15, maxMs: 15, jitter: 2 / 3 }
const BUSY_WRITER = { firstMs: 2, maxMs: 2, jitter: 0.5 }

/**
 * Waits for other connections without blocking the event loop, as SQLite's own busy timeout would:
 * the connection that holds the file may belong to this very process.
 */
export async function whenFree<T>(
  attempt: () => T,
  runtime: Runtime = systemRuntime,
  limitMs = BUSY_LIMIT_MS,
  signal?: AbortSignal,
): Promise<T> {
  const deadline = runtime.monotonic() + limitMs
  for (;;) {
    signal?.throwIfAborted()
    try {
      return attempt()
    } catch (cause) {
      const error = toOncueError(cause)
      if (error.code !== 'DATABASE_BUSY' || runtime.monotonic() > deadline) throw error
      await runtime.sleep(backoff(0, BUSY, runtime))
    }
  }
}

/**
 * The one connection that writes. Callers in the same turn share one transaction and so one fsync.
 *
 * Each may fail alone. Savepoints would allow that, but SQLite then keeps a copy of every page that
 * changes, which took a third of the time of a settle. So tasks run without them; only if one throws
 * is everything rolled back and run again, with savepoints. A task may therefore run twice, and
 * must not change anything but the file.
 *
 * When another process holds the file it waits without blocking the event loop: SQLite's own
 * busy timeout would stop every handler of this process.
 */
export class SqliteWriter {
  readonly runtime: Runtime
  readonly #db: Database
  readonly #signal: AbortSignal | undefined
  readonly #begin: Statement
  readonly #commit: Statement
  #waiting: Task[] = []
  #scheduled = false
  /** Whether the next turn uses a savepoint for each task. */
  #apart = false
  #busySince: number | undefined

  /** When aborted, it writes no more. */
  constructor(db: Database, runtime: Runtime = systemRuntime, signal?: AbortSignal) {
    this.runtime = runtime
    this.#db = db
    this.#signal = signal
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
  }

  write<T>(run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ run, resolve, reject })
      this.#schedule()
    })
  }

  /** Resolves when everything that waits has been written or refused. */
  async idle(): Promise<void> {
    if (this.#waiting.length > 0) await this.write(() => undefined)
  }

  #schedule(delayMs = 0): void {
    if (this.#scheduled) return
    this.#scheduled = true
    const flush = () => {
      this.#scheduled = false
      this.#flush()
    }
    this.runtime.after(delayMs, flush)
  }

  #flush(): void {
    if (this.#signal?.aborted) {
      for (const task of this.#waiting.splice(0)) task.reject(this.#signal.reason)
      return
    }
    try {
      this.#begin.run()
    } catch (error) {
      this.#wait(toOncueError(error))
      return
    }
    this.#busySince = undefined
    const tasks = this.#waiting
    const apart = this.#apart
    this.#waiting = []
    this.#apart = false
    let isRun = false
    try {
      const run = apart ? (task: Task) => this.#runApart(task) : (task: Task) => ({ value: task.run() })
      const outcomes: Outcome[] = tasks.map(run)
      isRun = true
      this.#commit.run()
      tasks.forEach((task, i) => {
        resolveTask(task, outcomes[i])
      })
    } catch (error) {
      // A full disk ends the whole transaction: then no task of the batch can be saved.
      const isOver = !this.#db.inTransaction
      if (!isOver) this.#db.exec('ROLLBACK')
      if (isRun || isOver || apart || tasks.length === 1) {
        for (const task of tasks) task.reject(toOncueError(error))
      } else {
        this.#waiting = [...tasks, ...this.#waiting]
        this.#apart = true
        this.#flush()
      }
    }
    if (this.#waiting.length > 0) this.#schedule()
  }

  #runApart(task: Task): Outcome {
    this.#db.exec('SAVEPOINT task')
    try {
      const value = task.run()
      this.#db.exec('RELEASE task')
      return { value }
    } catch (error) {
      if (!this.#db.inTransaction) throw error
      this.#db.exec('ROLLBACK TO task; RELEASE task')
      return { error }
    }
  }

  #wait(error: OncueError): void {
    this.#busySince ??= this.runtime.monotonic()
    if (error.code !== 'DATABASE_BUSY' || this.runtime.monotonic() - this.#busySince > BUSY_LIMIT_MS) {
      this.#busySince = undefined
      for (const task of this.#waiting.splice(0)) task.reject(error)
      return
    }
    this.#schedule(backoff(0, BUSY_WRITER, this.runtime))
  }
}

function resolveTask(task: Task, outcome: Outcome | undefined): void {
  if (outcome && 'error' in outcome) task.reject(toOncueError(outcome.error))
  else task.resolve(outcome?.value as never)
}
