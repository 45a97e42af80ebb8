import { isOncueError, OncueError } from '@oncue/core'
import type { NewOutcome, Outcome, RunOutcomes, RunRef, RunSpawns, Store } from '@oncue/db'
import { backoff, type Logger, type Runtime } from '@oncue/runtime'

const MAX_RUNS = 500
/** Of results in one call: a call that takes longer than the statement timeout would never succeed. */
const MAX_BYTES = 8 * 2 ** 20
const BACKOFF = { firstMs: 100, maxMs: 5_000 }

/** A run with outcomes to be recorded. */
export interface RecordingRun {
  /** What waits to be recorded: at most this many bytes, but at least one. */
  take(maxBytes: number): RunOutcomes
  readonly hasMore: boolean
  /** What the store has recorded. */
  learn(outcomes: readonly Outcome[]): void
  /** The store did not record these. */
  refuse(outcomes: readonly NewOutcome[], error: unknown): void
  /** Everything that was taken is recorded or refused. */
  done(taken: RunOutcomes, error?: unknown): void
}

export interface OutcomeRecorderOptions {
  readonly store: Pick<Store, 'durable'>
  /** Whose runs these are. */
  readonly worker: string | undefined
  readonly log: Logger
  readonly runtime: Runtime
}

type Sent = { readonly run: RecordingRun; readonly outcomes: RunOutcomes }

/** Records the outcomes of all runs: one call at a time, for many runs at once, again until it succeeds. */
export class OutcomeRecorder {
  readonly #options: OutcomeRecorderOptions
  readonly #waiting = new Set<RecordingRun>()
  readonly #closing = new AbortController()
  #writing: Promise<void> | undefined

  constructor(options: OutcomeRecorderOptions) {
    this.#options = options
  }

  add(run: RecordingRun): void {
    this.#waiting.add(run)
    this.#writing ??= this.#writeAll()
  }

  /** Stores jobs that a run makes, again until it succeeds. Null: the run is stale. */
  spawn(run: RunSpawns): Promise<Outcome[] | null> {
    const { store, worker } = this.#options
    return this.#again(run, 'could not store spawned jobs', () => store.durable.spawn(run, worker))
  }

  /** Whether a run has completed its job itself; again until it is known. */
  hasCompleted(run: RunRef): Promise<boolean> {
    const { store, worker } = this.#options
    return this.#again(run, 'could not read the end of a run', () => store.durable.hasCompleted(run, worker))
  }

  async #again<T>({ id }: RunRef, what: string, call: () => Promise<T>): Promise<T> {
    const { log, runtime } = this.#options
    for (let attempt = 1; ; attempt++) {
      try {
        return await call()
      } catch (error) {
        const isAway = isOncueError(error) && error.retryable
        if (!isAway || this.#closing.signal.aborted) throw error
        if (attempt === 1) log.warn({ err: error, job: id }, `${what}; retrying`)
        await runtime.sleep(backoff(attempt, BACKOFF, runtime), { signal: this.#closing.signal })
      }
    }
  }

  /** Writes what is left. From now on a failed write is not repeated. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    // Those of one turn of the event loop are written together.
    await this.#options.runtime.sleep(0)
    while (this.#waiting.size > 0) await this.#send(this.#nextBatch())
    this.#writing = undefined
  }

  #nextBatch(): Sent[] {
    const batch: Sent[] = []
    let bytes = 0
    for (const run of this.#waiting) {
      const outcomes = run.take(MAX_BYTES - bytes)
      if (!run.hasMore) this.#waiting.delete(run)
      batch.push({ run, outcomes })
      for (const { data } of outcomes.outcomes) bytes += data?.length ?? 0
      if (bytes >= MAX_BYTES || batch.length === MAX_RUNS) break
    }
    return batch
  }

  async #send(batch: readonly Sent[]): Promise<void> {
    const { store, worker, log, runtime } = this.#options
    for (let attempt = 1; ; attempt++) {
      try {
        const { stale, recorded } = await store.durable.record(
          batch.map(({ outcomes }) => outcomes),
          worker,
        )
        for (const { run, outcomes } of batch) {
          const isLost = stale.some((ref) => ref.id === outcomes.id && ref.run === outcomes.run)
          if (isLost) refuse({ run, outcomes }, staleRun(outcomes))
          else {
            run.learn(recorded.get(outcomes.id) ?? [])
            run.done(outcomes)
          }
        }
        return
      } catch (error) {
        const isAway = isOncueError(error) && error.retryable
        if (isAway && this.#closing.signal.aborted) {
          for (const sent of batch) refuse(sent, error)
          return
        }
        if (!isAway) return this.#sendEach(batch, error)
        if (attempt === 1) log.warn({ err: error, runs: batch.length }, 'could not record outcomes; retrying')
        // Closing ends the wait.
        await runtime.sleep(backoff(attempt, BACKOFF, runtime), { signal: this.#closing.signal })
      }
    }
  }

  /** Finds the outcome that the database refuses: the others are recorded. */
  async #sendEach(batch: readonly Sent[], error: unknown): Promise<void> {
    const [sent] = batch
    if (!sent || batch.length > 1) {
      for (const each of batch) await this.#send([each])
      return
    }
    const { run, outcomes } = sent
    if (outcomes.outcomes.length <= 1) return refuse(sent, error)
    for (const outcome of outcomes.outcomes) {
      const alone = { ...outcomes, outcomes: [outcome] }
      await this.#send([{ run: { ...asPart(run), take: () => alone, hasMore: false }, outcomes: alone }])
    }
    run.done(outcomes)
  }
}

/** A part of what was taken does not end it. */
function asPart(run: RecordingRun): Pick<RecordingRun, 'learn' | 'refuse' | 'done'> {
  return {
    learn: (outcomes) => run.learn(outcomes),
    refuse: (outcomes, error) => run.refuse(outcomes, error),
    done: () => {},
  }
}

function refuse({ run, outcomes }: Sent, error: unknown): void {
  run.refuse(outcomes.outcomes, error)
  run.done(outcomes, error)
}

function staleRun({ id, run }: RunRef): OncueError {
  return new OncueError('STALE_RUN', `run ${run} of job ${id} lost its lease; nothing was written`)
}
