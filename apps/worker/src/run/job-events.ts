import { isOncueError, LIMITS, OncueError } from '@oncue/core'
import type { NewEvent, RunRef, RunUpdate, Store } from '@oncue/db'
import { backoff, type Logger, type Runtime, type Timer } from '@oncue/runtime'

/** How long events wait to be written if no handler awaits them. */
const SOON_MS = 1_000
const MAX_RUNS = 500
const BACKOFF = { firstMs: 100, maxMs: 5_000 }
/** Bytes of finished steps in one call: a call that takes longer than the statement timeout would never succeed. */
const MAX_STEP_BYTES = 8 * 2 ** 20

type Waiting = { readonly resolve: () => void; readonly reject: (error: unknown) => void }

/** Events, progress and cursor of one run that are not written yet. */
export class RunEvents {
  readonly #all: JobEvents
  readonly #ref: RunRef
  readonly #onStale: () => void
  #progress: string | undefined
  #cursor: string | undefined
  #events: Happened[] = []
  #waiting: Waiting[] = []
  #underWay = 0
  #late: NewEvent[] = []

  constructor(all: JobEvents, ref: RunRef, onStale: () => void) {
    this.#all = all
    this.#ref = { id: ref.id, run: ref.run }
    this.#onStale = onStale
  }

  /** Nothing waits to be written, and no write is under way. */
  get isSettled(): boolean {
    return this.isEmpty && this.#underWay === 0
  }

  /** Came too late to be written: the run no longer owned its job. */
  get late(): readonly NewEvent[] {
    return this.#late
  }

  get isEmpty(): boolean {
    return this.#progress === undefined && this.#cursor === undefined && this.#events.length === 0
  }

  /** JSON text. Replaces what is not written yet; written within a second. */
  progress(text: string): void {
    this.#progress = text
    this.#all.soon(this)
  }

  /** Written within a second. */
  event(event: NewEvent): void {
    this.#events.push({ event, at: this.#all.monotonic() })
    this.#all.soon(this)
  }

  /** JSON text. */
  cursor(text: string): Promise<void> {
    this.#cursor = text
    return this.written()
  }

  /** Writes all of it now. Fails with STALE_RUN when the run is lost. */
  written(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#all.now(this)
    })
  }

  /** As much as fits into one call; `rest` says that there is more. */
  take(): Taken {
    const events = this.#events.splice(0, fitting(this.#events))
    const update = { ...this.#ref, progress: this.#progress, cursor: this.#cursor }
    this.#progress = undefined
    this.#cursor = undefined
    const rest = this.#events.length > 0
    const waiting = rest ? [] : this.#waiting.splice(0)
    this.#underWay += 1
    return {
      update,
      events,
      rest,
      written: () => {
        this.#underWay -= 1
        for (const { resolve } of waiting) resolve()
      },
      refused: (error) => {
        this.#underWay -= 1
        if (isOncueError(error, 'STALE_RUN')) {
          this.#late.push(...events.map(({ event }) => event))
          this.#onStale()
        }
        for (const { reject } of waiting) reject(error)
      },
    }
  }
}

/** When, on the monotonic clock: a write that is retried is later still. */
type Happened = { readonly event: NewEvent; readonly at: number }

type Taken = {
  readonly update: Omit<RunUpdate, 'events'>
  readonly events: readonly Happened[]
  readonly rest: boolean
  written(): void
  refused(error: unknown): void
}

/** How many events fit into a call: at least one, however large. */
function fitting(events: readonly Happened[]): number {
  let bytes = 0
  for (let n = 0; n < Math.min(events.length, LIMITS.events); n++) {
    bytes += sizeOf(events[n])
    if (bytes > MAX_STEP_BYTES) return Math.max(n, 1)
  }
  return Math.min(events.length, LIMITS.events)
}

/** Only finished steps can be large. */
function sizeOf(happened: Happened | undefined): number {
  const event = happened?.event
  return event?.type === 'step_finished' ? JSON.stringify(event.data).length : 0
}

export interface JobEventsOptions {
  readonly store: Pick<Store, 'recordProgress'>
  /** Whose runs these are. */
  readonly worker: string | undefined
  readonly log: Logger
  readonly runtime: Runtime
}

/** Writes the events, progress and cursors of all runs: one call at a time, for many runs at once, again until it succeeds. */
export class JobEvents {
  readonly #options: JobEventsOptions
  readonly #soon = new Set<RunEvents>()
  readonly #now = new Set<RunEvents>()
  readonly #closing = new AbortController()
  #timer: Timer | undefined
  #writing: Promise<void> | undefined

  constructor(options: JobEventsOptions) {
    this.#options = options
  }

  monotonic(): number {
    return this.#options.runtime.monotonic()
  }

  of(ref: RunRef, onStale: () => void): RunEvents {
    return new RunEvents(this, ref, onStale)
  }

  soon(events: RunEvents): void {
    this.#soon.add(events)
    this.#timer ??= this.#options.runtime.after(SOON_MS, () => this.#hurry())
  }

  now(events: RunEvents): void {
    this.#soon.delete(events)
    this.#now.add(events)
    this.#writing ??= this.#writeAll()
  }

  /** Writes what is left. From now on a failed write is not retried. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#hurry()
    await this.#writing
  }

  #hurry(): void {
    this.#options.runtime.cancel(this.#timer)
    this.#timer = undefined
    for (const events of this.#soon) if (!events.isEmpty) this.now(events)
    this.#soon.clear()
  }

  async #writeAll(): Promise<void> {
    // Events of one turn of the event loop are written together.
    await this.#options.runtime.sleep(0)
    while (this.#now.size > 0) {
      const batch = this.#nextBatch()
      if (batch.length > 0) await this.#send(batch)
    }
    this.#writing = undefined
  }

  #nextBatch(): Taken[] {
    const batch: Taken[] = []
    let room: number = LIMITS.events
    let bytes = 0
    for (const run of this.#now) {
      const isEmpty = run.isEmpty
      const taken = run.take()
      if (isEmpty) taken.written()
      else batch.push(taken)
      if (!taken.rest) this.#now.delete(run)
      room -= taken.events.length
      for (const event of taken.events) bytes += sizeOf(event)
      if (room <= 0 || bytes >= MAX_STEP_BYTES || batch.length === MAX_RUNS) break
    }
    return batch
  }

  async #send(batch: readonly Taken[]): Promise<void> {
    const { store, worker, log, runtime } = this.#options
    for (let attempt = 1; ; attempt++) {
      try {
        const now = this.monotonic()
        const updates = batch.map(({ update, events }) => ({
          ...update,
          events: events.map(({ event, at }) => ({ ...event, ageMs: now - at })),
        }))
        const { stale } = await store.recordProgress(updates, worker)
        for (const taken of batch) {
          const { id, run } = taken.update
          const isLost = stale.some((ref) => ref.id === id && ref.run === run)
          if (isLost) taken.refused(staleRun(taken.update))
          else taken.written()
        }
        return
      } catch (error) {
        const isAway = isOncueError(error) && error.retryable
        if (isAway && this.#closing.signal.aborted) return this.#giveUp(batch, error)
        if (!isAway) return this.#sendEach(batch, error)
        if (attempt === 1)
          log.warn({ err: error, runs: batch.length }, 'could not write job events; retrying')
        // Closing ends the wait.
        await runtime.sleep(backoff(attempt, BACKOFF, runtime), { signal: this.#closing.signal })
      }
    }
  }

  /** Isolates the update that the database refuses: the others are written. */
  async #sendEach(batch: readonly Taken[], error: unknown): Promise<void> {
    if (batch.length === 1) this.#giveUp(batch, error)
    else for (const taken of batch) await this.#send([taken])
  }

  #giveUp(batch: readonly Taken[], error: unknown): void {
    for (const { update, refused } of batch) {
      this.#options.log.error({ err: error, job: update.id, run: update.run }, 'events of a run were lost')
      refused(error)
    }
  }
}

function staleRun({ id, run }: RunRef): OncueError {
  return new OncueError('STALE_RUN', `run ${run} of job ${id} lost its lease; nothing was written`)
}
