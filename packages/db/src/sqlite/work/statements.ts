import type { Row, Statement, Step } from '../../queue/transaction.ts'
import type { Database, Statement as Prepared } from '../driver.ts'

/** Runs statements in a transaction that the caller has opened. */
export interface Statements {
  /** Returns how many rows changed. */
  run(text: string, ...values: unknown[]): number
  get<R>(text: string, ...values: unknown[]): R | undefined
  all<R>(text: string, ...values: unknown[]): R[]
  step(step: Step): Row[]
  write(statements: readonly Statement[]): void
}

/** Prepared once, run many times. */
export class PreparedStatements implements Statements {
  readonly #db: Database
  readonly #prepared = new Map<string, Prepared>()

  constructor(db: Database) {
    this.#db = db
  }

  run(text: string, ...values: unknown[]): number {
    return this.prepare(text).run(...values).changes
  }

  get<R>(text: string, ...values: unknown[]): R | undefined {
    return this.prepare(text).get(...values) as R | undefined
  }

  all<R>(text: string, ...values: unknown[]): R[] {
    return this.prepare(text).all(...values) as R[]
  }

  step({ text, values, reads }: Step): Row[] {
    if (reads) return this.prepare(text).all(...values) as Row[]
    this.prepare(text).run(...values)
    return []
  }

  write(statements: readonly Statement[]): void {
    for (const { text, values } of statements) this.prepare(text).run(...values)
  }

  prepare(text: string): Prepared {
    let prepared = this.#prepared.get(text)
    if (!prepared) {
      prepared = this.#db.prepare(text)
      // Inserts of odd sizes are evicted now and then; the texts of the hot path soon return.
      if (this.#prepared.size > 200) this.#prepared.clear()
      this.#prepared.set(text, prepared)
    }
    return prepared
  }
}
