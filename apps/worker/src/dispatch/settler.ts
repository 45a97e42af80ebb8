import type { Settlement } from '@oncue/db'
import type { OwnedRun, OwnedRuns } from '../lease/owned-runs.ts'

/** Ends of runs that are sent to the database together. */
export interface Batch {
  readonly owned: readonly OwnedRun[]
  readonly settlements: readonly Settlement[]
}

const NOTHING: Batch = { owned: [], settlements: [] }

/** Bytes of results in a batch: one that takes longer to send than the statement timeout would never be written. */
const MOST_BYTES = 8 * 2 ** 20

/**
 * Keeps ends until they are written. A batch that failed goes back to the front; its runs stay in the ledger and
 * get heartbeats meanwhile.
 */
export class Settler {
  readonly #runs: OwnedRuns
  #owned: OwnedRun[] = []
  #settlements: Settlement[] = []
  #sent = 0

  constructor(runs: OwnedRuns) {
    this.#runs = runs
  }

  /** Ends not sent yet. */
  get waiting(): number {
    return this.#settlements.length
  }

  /** Ends not written yet. */
  get unsettled(): number {
    return this.#settlements.length + this.#sent
  }

  add(owned: OwnedRun, settlement: Settlement): void {
    this.#runs.end(owned)
    this.#owned.push(owned)
    this.#settlements.push(settlement)
  }

  take(limit: number): Batch {
    if (this.#settlements.length === 0) return NOTHING
    let batch = { owned: this.#owned, settlements: this.#settlements }
    const count = this.#fitting(limit)
    if (count === this.#settlements.length) {
      this.#owned = []
      this.#settlements = []
    } else {
      batch = { owned: this.#owned.splice(0, count), settlements: this.#settlements.splice(0, count) }
    }
    this.#sent += batch.settlements.length
    return batch
  }

  written(batch: Batch): void {
    this.#sent -= batch.settlements.length
    for (const owned of batch.owned) this.#runs.drop(owned)
  }

  putBack(batch: Batch): void {
    this.#sent -= batch.settlements.length
    this.#owned = [...batch.owned, ...this.#owned]
    this.#settlements = [...batch.settlements, ...this.#settlements]
  }

  /** How many fit into a batch: at least one, however large. */
  #fitting(limit: number): number {
    const most = Math.min(limit, this.#settlements.length)
    let bytes = 0
    for (let n = 0; n < most; n++) {
      bytes += sizeOf(this.#settlements[n])
      if (bytes > MOST_BYTES) return Math.max(n, 1)
    }
    return most
  }
}

function sizeOf(settlement: Settlement | undefined): number {
  return settlement?.kind === 'complete' ? (settlement.result?.length ?? 0) : 0
}
