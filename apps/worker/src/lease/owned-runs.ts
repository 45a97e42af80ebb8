import type { ClaimedJob, RunRef } from '@oncue/db'
import type { Run } from '../run/executor.ts'
import { ENDED, GONE, type LeaseLedger, RUNNING, type RunState, WAITING } from './ledger.ts'

/** A run that this worker owns: from its claim until its end is written. */
export interface OwnedRun {
  readonly job: ClaimedJob
  /** Its word in the ledger. */
  readonly position: number
  readonly generation: number
  /** Whether the database counts it as started, so that a crash is charged to its job. */
  readonly charged: boolean
  state: RunState
  /** Null until it runs. */
  run: Run | null
  startedAt: number
}

/** All runs that this worker owns. Every change is written to the ledger at once, where the lease thread sees it. */
export class OwnedRuns {
  readonly #ledger: LeaseLedger
  readonly #byPosition: (OwnedRun | undefined)[]
  readonly #free: number[]

  constructor(ledger: LeaseLedger) {
    this.#ledger = ledger
    this.#byPosition = new Array(ledger.size).fill(undefined)
    this.#free = Array.from({ length: ledger.size }, (_, n) => ledger.size - 1 - n)
  }

  /** How many more there is room for. */
  get room(): number {
    return this.#free.length
  }

  add(job: ClaimedJob, charged: boolean): OwnedRun {
    const position = this.#free.pop()
    if (position === undefined) throw new RangeError('more runs were claimed than the ledger has room for')
    const generation = this.#ledger.nextGeneration(position)
    const owned: OwnedRun = { job, position, generation, charged, state: WAITING, run: null, startedAt: 0 }
    this.#byPosition[position] = owned
    this.#ledger.write(position, generation, WAITING)
    return owned
  }

  start(owned: OwnedRun, now: number): void {
    owned.startedAt = now
    this.#set(owned, RUNNING)
  }

  end(owned: OwnedRun): void {
    this.#set(owned, ENDED)
  }

  drop(owned: OwnedRun): void {
    if (owned.state === GONE) return
    this.#set(owned, GONE)
    this.#byPosition[owned.position] = undefined
    this.#free.push(owned.position)
  }

  /** Undefined if that run is over: another run may have its position now. */
  at(position: number, generation: number): OwnedRun | undefined {
    const owned = this.#byPosition[position]
    return owned?.generation === generation ? owned : undefined
  }

  all(): OwnedRun[] {
    return this.#byPosition.filter((owned) => owned !== undefined)
  }

  /** Those of `refs` that this worker does not know of. */
  unknown(refs: readonly RunRef[]): RunRef[] {
    const known = new Set(this.all().map(({ job }) => `${job.id} ${job.run}`))
    return refs.filter(({ id, run }) => !known.has(`${id} ${run}`))
  }

  #set(owned: OwnedRun, state: RunState): void {
    owned.state = state
    this.#ledger.write(owned.position, owned.generation, state)
  }
}
