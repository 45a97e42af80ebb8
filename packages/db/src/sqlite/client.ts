import type { OncueError } from '@oncue/core'
import type { Database } from 'better-sqlite3'
import { toOncueError } from './errors.ts'

type Task = {
  readonly run: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (e: unknown) => void
}
type Outcome = { readonly value: unknown } | { readonly error: unknown }

/** For how long another process may hold the file before a write gives up. */
const BUSY_LIMIT_MS = 10_000

/**
 * The one connection that writes. Callers of the same turn share one transaction and so one fsync.
 * They run without savepoints, which cost a third of a drain; only when one of them fails is all
 * rolled back and run again with a savepoint each, so that the failure is nobody else's.
 *
 * When another process holds the file it waits without blocking the event loop: SQLite's own
 * busy timeout would stop every handler of this process.
 */
export class SqliteWriter {
  readonly #db: Database
  #waiting: Task[] = []
  #scheduled = false
  #busySince: number | undefined

  constructor(db: Database) {
    this.#db = db
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
    if (delayMs > 0) setTimeout(flush, delayMs)
    else setImmediate(flush)
  }

  #flush(): void {
    try {
      this.#db.exec('BEGIN IMMEDIATE')
    } catch (error) {
      this.#wait(toOncueError(error))
      return
    }
    this.#busySince = undefined
    const tasks = this.#waiting
    this.#waiting = []
    try {
      const outcomes = this.#runTogether(tasks) ?? this.#runApart(tasks)
      this.#db.exec('COMMIT')
      tasks.forEach((task, i) => {
        settle(task, outcomes[i])
      })
    } catch (error) {
      // A full disk ends the whole transaction by itself.
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
      for (const task of tasks) task.reject(toOncueError(error))
    }
  }

  /** Undefined when one of them failed: then nothing of it is left. */
  #runTogether(tasks: readonly Task[]): Outcome[] | undefined {
    try {
      return tasks.map((task) => ({ value: task.run() }))
    } catch (error) {
      if (!this.#db.inTransaction) throw error
      this.#db.exec('ROLLBACK; BEGIN IMMEDIATE')
      return undefined
    }
  }

  #runApart(tasks: readonly Task[]): Outcome[] {
    return tasks.map((task) => {
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
    })
  }

  #wait(error: OncueError): void {
    this.#busySince ??= performance.now()
    if (error.code !== 'DATABASE_BUSY' || performance.now() - this.#busySince > BUSY_LIMIT_MS) {
      this.#busySince = undefined
      for (const task of this.#waiting.splice(0)) task.reject(error)
      return
    }
    this.#schedule(1 + Math.random() * 4)
  }
}

function settle(task: Task, outcome: Outcome | undefined): void {
  if (outcome && 'error' in outcome) task.reject(toOncueError(outcome.error))
  else task.resolve(outcome?.value as never)
}
