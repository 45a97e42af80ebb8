import type { JobError } from '@oncue/core'
import type { NewOutcome, SuspendedWait } from '@oncue/db'
import type { Runtime, Timer } from '@oncue/runtime'
import type { Replay } from './replay.ts'

/** Shorter waits are waited for in the worker; longer ones leave it, once nothing happened for this long. */
export const QUIET_MS = 1_000
/** How often a run that waits beside other work looks for signals, children and timers that are over. */
const LOOK_MS = 1_000

/** A run that may be suspended. */
export interface WaitingRun {
  /** Calls of the context that are under way and belong to no wait. */
  readonly inFlight: number
  /** Its handler is in another process: its calls may be on their way. */
  readonly isIsolated: boolean
  suspend(waits: readonly SuspendedWait[], progressed: boolean, error: JobError | undefined): void
}

export type NewWait = Omit<SuspendedWait, 'after'> & {
  /** Of a `retry`: why the attempt before it failed, if that was in this run. */
  readonly failure?: JobError | undefined
}

type OpenWait = NewWait & {
  /** On the monotonic clock: when a delay that started in this run is over. */
  readonly dueMs?: number | undefined
}

/** When a run is suspended: as soon as it does nothing but wait. */
export class Suspension {
  readonly #run: WaitingRun
  readonly #replay: Replay
  readonly #runtime: Runtime
  readonly #waits = new Map<string, OpenWait>()
  /** Calls of the handler that are not settled. */
  #open = 0
  /** Of those, the ones that are not waits: steps that run, short sleeps, records under way. */
  #busy = 0
  /** Of the busy ones, the looks for signals and timers that are over. */
  #looking = 0
  /** Two calls were open at once: the handler may be doing other things beside a wait. */
  #wasConcurrent = false
  #isHurried = false
  #isOver = false
  #quiet: Timer | undefined
  #look: Timer | undefined

  constructor(run: WaitingRun, replay: Replay, runtime: Runtime) {
    this.#run = run
    this.#replay = replay
    this.#runtime = runtime
  }

  // --- what the handler does

  /** A call of the handler, until it is settled. */
  async calling<T>(call: () => Promise<T>): Promise<T> {
    this.#open += 1
    if (this.#open + this.#run.inFlight > 1) this.#wasConcurrent = true
    this.stir()
    try {
      return await call()
    } finally {
      this.#open -= 1
      this.stir()
    }
  }

  /** Work within a call. */
  async working<T>(work: () => Promise<T>): Promise<T> {
    this.#busy += 1
    try {
      return await work()
    } finally {
      this.#busy -= 1
    }
  }

  /** A wait within the work of a step. */
  async pausing<T>(wait: () => Promise<T>): Promise<T> {
    this.#busy -= 1
    try {
      return await wait()
    } finally {
      this.#busy += 1
    }
  }

  beginStep(): void {
    this.#open += 1
    this.#busy += 1
  }

  endStep(): void {
    this.#open -= 1
    this.#busy -= 1
    this.stir()
  }

  /** Whether the handler does something besides this many calls, and besides looking. */
  isWorking(calls: number): boolean {
    return this.#busy - this.#looking > calls || this.#run.inFlight > 0
  }

  /** A call of the context that is no wait has begun or ended. */
  noteCall(): void {
    if (this.#run.inFlight > 0 && this.#open > 0) this.#wasConcurrent = true
  }

  // --- waits

  /** `opening` is recorded first. */
  add(wait: NewWait, opening: readonly NewOutcome[] = []): void {
    const { until, delayMs } = wait
    const dueMs = until || delayMs === undefined ? undefined : this.#runtime.monotonic() + delayMs
    this.#waits.set(wait.key, { ...wait, delayMs: until ? undefined : delayMs, dueMs })
    // Is it over already, by the store's clock, was a signal sent before, or have the children ended?
    if (until || !isTime(wait.kind)) this.#lookNow(opening)
    this.stir()
  }

  forget(key: string): void {
    this.#waits.delete(key)
  }

  rejectAll(error: unknown): void {
    for (const key of [...this.#waits.keys()]) this.#replay.reject(key, error)
  }

  #lookNow(opening: readonly NewOutcome[] = []): void {
    this.#busy += 1
    this.#looking += 1
    this.#replay.send([...opening, ...this.#overdue()]).then(
      () => this.#endLook(),
      (error) => {
        this.#endLook()
        this.rejectAll(error)
      },
    )
  }

  #endLook(): void {
    this.#busy -= 1
    this.#looking -= 1
    this.stir()
  }

  /** What to record of the waits that may be over. */
  #overdue(): NewOutcome[] {
    const now = this.#runtime.monotonic()
    return [...this.#waits.values()].flatMap(({ kind, name, key, until, dueMs, children }): NewOutcome[] => {
      if (kind === 'children') return [{ key, kind, children }]
      if (!until && (dueMs === undefined || dueMs > now)) return []
      if (isTime(kind)) return [{ key, kind: 'timer', dueAt: until }]
      // An answer has the same key: the first of the two stands.
      if (kind === 'ask') return [{ key, kind: 'timeout', dueAt: until }]
      const unless = { signal: name, seen: this.#replay.recorded.lastTaken(name) }
      return [{ key, kind: 'timeout', dueAt: until, unless }]
    })
  }

  // --- suspending

  /** Something happened: the quiet that precedes a suspension starts anew. */
  stir(): void {
    this.#runtime.cancel(this.#quiet)
    this.#quiet = undefined
    if (this.#isOver) return
    if (this.#waits.size === 0) {
      this.#runtime.cancel(this.#look)
      this.#look = undefined
      return
    }
    // A wait beside other work: it may be over before the run can be suspended.
    this.#look ??= this.#runtime.every(LOOK_MS, () => {
      if (!this.#onlyWaits) this.#lookNow()
    })
    if (!this.#onlyWaits) return
    this.#quiet =
      (this.#wasConcurrent || this.#run.isIsolated) && !this.#isHurried
        ? this.#runtime.after(QUIET_MS, () => this.#suspend())
        : this.#runtime.after(0, () => {
            this.#quiet = this.#runtime.after(0, () => this.#suspend())
          })
  }

  #suspend(): void {
    if (!this.#onlyWaits) return
    if (this.#replay.hasFailures) {
      // The handler survived these, and its next run must not meet others.
      this.#lookNow()
      return
    }
    const waits = [...this.#waits.values()]
    // Of several, the one that failed last.
    const error = waits.findLast(({ failure }) => failure)?.failure
    const suspended = waits.map((wait) => this.#toSuspended(wait))
    this.#run.suspend(suspended, this.#replay.progressed, error)
  }

  #toSuspended({ dueMs, delayMs, failure: _, ...wait }: OpenWait): SuspendedWait {
    const left = dueMs === undefined ? delayMs : Math.max(0, Math.round(dueMs - this.#runtime.monotonic()))
    const after = wait.kind === 'signal' ? { after: this.#replay.recorded.lastTaken(wait.name) } : {}
    return { ...wait, ...(left !== undefined && { delayMs: left }), ...after }
  }

  /** Nothing but waits is open, and nothing is about to be delivered. */
  get #onlyWaits(): boolean {
    if (this.#isOver || this.#waits.size === 0 || this.#busy > 0 || this.#run.inFlight > 0) return false
    return this.#waits.size >= this.#open && this.#replay.isIdle
  }

  /** The worker stops: the run is suspended as soon as it only waits. */
  hurry(): void {
    this.#isHurried = true
    this.stir()
  }

  close(): void {
    this.#isOver = true
    this.#runtime.cancel(this.#quiet)
    this.#runtime.cancel(this.#look)
    this.#waits.clear()
  }
}

/** Whether such a wait ends by the clock alone. */
const isTime = (kind: SuspendedWait['kind']) => kind === 'timer' || kind === 'retry'
