import type { Settlement } from '@oncue/db'
import type { HeldRun, HeldRuns } from './held-runs.ts'

/** Ends of runs on their way to the database. */
export interface Batch {
  readonly held: readonly HeldRun[]
  readonly settlements: readonly Settlement[]
}

const NOTHING: Batch = { held: [], settlements: [] }

/**
 * Ends that wait to be written. They are kept until they are: a batch that failed goes back to the
 * front, and its runs stay in the ledger and are beaten for meanwhile.
 */
export class Settler {
  readonly #runs: HeldRuns
  #held: HeldRun[] = []
  #settlements: Settlement[] = []
  #sent = 0

  constructor(runs: HeldRuns) {
    this.#runs = runs
  }

  /** How many are not on their way yet. */
  get waiting(): number {
    return this.#settlements.length
  }

  /** How many are not written yet. */
  get unsettled(): number {
    return this.#settlements.length + this.#sent
  }

  add(held: HeldRun, settlement: Settlement): void {
    this.#runs.end(held)
    this.#held.push(held)
    this.#settlements.push(settlement)
  }

  take(limit: number): Batch {
    if (this.#settlements.length === 0) return NOTHING
    let batch = { held: this.#held, settlements: this.#settlements }
    if (this.#settlements.length <= limit) {
      this.#held = []
      this.#settlements = []
    } else {
      batch = { held: this.#held.splice(0, limit), settlements: this.#settlements.splice(0, limit) }
    }
    this.#sent += batch.settlements.length
    return batch
  }

  written(batch: Batch): void {
    this.#sent -= batch.settlements.length
    for (const held of batch.held) this.#runs.drop(held)
  }

  putBack(batch: Batch): void {
    this.#sent -= batch.settlements.length
    this.#held = [...batch.held, ...this.#held]
    this.#settlements = [...batch.settlements, ...this.#settlements]
  }
}
