import type { Row, Statement, Step, Steps } from '../../queue/transaction.ts'
import type { Statements } from './statements.ts'
import { SqliteWork } from './work.ts'

/**
 * Work as the statements that it wants to run, for a connection of the caller's, which may be asynchronous. The work itself
 * is not: it runs again from its start after each statement, with the results so far, until it needs no other. A few dozen
 * statements at most, so that this costs less than sending them.
 */
export function* workSteps<T>(work: (work: SqliteWork) => T): Steps<T> {
  const results: Row[][] = []
  for (;;) {
    try {
      return work(new SqliteWork(new KnownResults(results)))
    } catch (error) {
      if (!(error instanceof NextStep)) throw error
      results.push((yield error.step).map(withNumbers))
    }
  }
}

/** Thrown by the first statement whose result is not known yet. */
class NextStep extends Error {
  readonly step: Step

  constructor(step: Step) {
    super('the result of a statement is not known yet')
    this.step = step
  }
}

class KnownResults implements Statements {
  readonly #results: readonly Row[][]
  #next = 0

  constructor(results: readonly Row[][]) {
    this.#results = results
  }

  run(text: string, ...values: unknown[]): number {
    this.step({ text, values, reads: false })
    // Libraries report it in different ways.
    return Number(this.get<{ n: number }>('SELECT changes() AS n')?.n)
  }

  get<R>(text: string, ...values: unknown[]): R | undefined {
    return this.all<R>(text, ...values)[0]
  }

  all<R>(text: string, ...values: unknown[]): R[] {
    return this.step({ text, values, reads: true }) as R[]
  }

  step(step: Step): Row[] {
    const result = this.#results[this.#next]
    this.#next += 1
    if (!result) throw new NextStep(step)
    return result
  }

  write(statements: readonly Statement[]): void {
    for (const statement of statements) this.step({ ...statement, reads: false })
  }
}

/** As our own connection returns them: libraries make a Date of a time, and a bigint of a large number. */
function withNumbers(row: Row): Row {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? Number(value) : value instanceof Date ? value.getTime() : value,
  ])
  return Object.fromEntries(entries)
}
