/** The state of a run is two bits of its word; the other bits are the generation. */
export const GONE = 0
/** Claimed, and waiting for a slot. */
export const WAITING = 1
export const RUNNING = 2
/** Its handler has ended, but its end is not written yet. */
export const ENDED = 3

export type RunState = typeof GONE | typeof WAITING | typeof RUNNING | typeof ENDED

/** The word of one run: its position in the ledger, and its generation there. */
export type LedgerPosition = readonly [position: number, generation: number]

const MAX_GENERATION = 2 ** 29 - 1

/**
 * Memory that the main thread writes and the lease thread reads: one word per run with its state, so that
 * no message is posted when a run starts or ends. Positions are reused; the generation tells the runs of one
 * position apart.
 *
 * The first word is the pulse of the main thread. No times are shared: each thread has its own clock.
 */
export class LeaseLedger {
  readonly buffer: SharedArrayBuffer
  readonly #words: Int32Array

  constructor(size: number | SharedArrayBuffer) {
    this.buffer = typeof size === 'number' ? new SharedArrayBuffer(4 * (size + 1)) : size
    this.#words = new Int32Array(this.buffer)
  }

  get size(): number {
    return this.#words.length - 1
  }

  get pulse(): number {
    return Atomics.load(this.#words, 0)
  }

  beatPulse(): void {
    Atomics.add(this.#words, 0, 1)
  }

  write(position: number, generation: number, state: RunState): void {
    Atomics.store(this.#words, position + 1, (generation << 2) | state)
  }

  read(position: number, generation: number): RunState {
    const word = Atomics.load(this.#words, position + 1)
    return word >> 2 === generation ? ((word & 3) as RunState) : GONE
  }

  /** For the next run that gets this position. */
  nextGeneration(position: number): number {
    const generation = Atomics.load(this.#words, position + 1) >> 2
    return generation === MAX_GENERATION ? 0 : generation + 1
  }
}
