import type { ClaimedJob, RunRef } from '@oncue/db'
import type { Run } from '../run/executor.ts'
import { ENDED, GONE, type LeaseLedger, RUNNING, type RunState, WAITING } from './ledger.ts'

/** A run that this worker owns, from the claim until its end is written. */
export interface HeldRun {
  readonly job: ClaimedJob
  /** Where it stands in the ledger. */
  readonly place: number
  readonly generation: number
  /** Whether the database counts it as started: then a crash charges it. */
  readonly charged: boolean
  state: RunState
  /** Once it runs. */
  run: Run | null
  startedAt: number
}

/** All runs that this worker owns. What it is told is in the ledger at once, for the lease thread to see. */
export class HeldRuns {
  readonly #ledger: LeaseLedger
  readonly #byPlace: (HeldRun | undefined)[]
  readonly #free: number[]

  constructor(ledger: LeaseLedger) {
    this.#ledger = ledger
    this.#byPlace = new Array(ledger.places).fill(undefined)
    this.#free = Array.from({ length: ledger.places }, (_, n) => ledger.places - 1 - n)
  }

  /** How many more there is room for. */
  get room(): number {
    return this.#free.length
  }

  hold(job: ClaimedJob, charged: boolean): HeldRun {
    const place = this.#free.pop()
    if (place === undefined) throw new RangeError('more runs were claimed than the ledger has room for')
    const generation = this.#ledger.nextGeneration(place)
    const held: HeldRun = { job, place, generation, charged, state: WAITING, run: null, startedAt: 0 }
    this.#byPlace[place] = held
    this.#ledger.write(place, generation, WAITING)
    return held
  }

  start(held: HeldRun, now: number): void {
    held.startedAt = now
    this.#set(held, RUNNING)
  }

  end(held: HeldRun): void {
    this.#set(held, ENDED)
  }

  drop(held: HeldRun): void {
    if (held.state === GONE) return
    this.#set(held, GONE)
    this.#byPlace[held.place] = undefined
    this.#free.push(held.place)
  }

  /** Undefined when that run is over: the place may be another's now. */
  at(place: number, generation: number): HeldRun | undefined {
    const held = this.#byPlace[place]
    return held?.generation === generation ? held : undefined
  }

  all(): HeldRun[] {
    return this.#byPlace.filter((held) => held !== undefined)
  }

  /** Those of `refs` that nobody here knows of. */
  unknown(refs: readonly RunRef[]): RunRef[] {
    const known = new Set(this.all().map(({ job }) => `${job.id} ${job.run}`))
    return refs.filter(({ id, run }) => !known.has(`${id} ${run}`))
  }

  #set(held: HeldRun, state: RunState): void {
    held.state = state
    this.#ledger.write(held.place, held.generation, state)
  }
}
