import { awaitsCanary, BULK_OPERATION_LEAD, type BulkOperationRow, type Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { backoff, type Logger, Loop, type Runtime, type Service, systemRuntime, Term } from '@oncue/runtime'
import { isOurFault, toOncueError } from '../errors.ts'

/** How often a process looks for bulk operations without a leader. */
const POLL_MS = 2_000
/** A leader that has not renewed its term for this long is replaced; while it waits it renews every second. */
const TERM_MS = 5_000
const RENEW_MS = 1_000
/** Workers come first: after each batch it rests for as long as the batch took, and at least this long. */
const REST_MS = 20
/** Spread bulk operations run a batch this often, or job by job. */
const BATCH_EVERY_MS = 1_000
/** While an operation runs, the outcomes of its jobs are counted this often. */
const LOOK_MS = 1_000
/** After its end, outcomes that do not change are counted less and less often, up to this pause. */
const MAX_LOOK_MS = 30_000
/** An operation that cannot be continued is tried again after a growing pause. */
const FAILURE_BACKOFF = { firstMs: POLL_MS, maxMs: 60_000 }
/** An operation that stops when jobs fail again must not be far ahead of them. */
const MAX_IN_FLIGHT = 1_000

export interface BulkRunnerOptions {
  readonly store: Pick<Store, 'bulkOperations' | 'lead' | 'stepDown'>
  readonly control: Pick<Control, 'bulkOperations'>
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly runtime?: Runtime | undefined
  /** Runs this operation alone, for a process that began it and ends with it. */
  readonly only?: string | undefined
}

/**
 * Runs bulk operations, batch by batch. Every API process has a runner; each operation has one leader among them, and another
 * takes over when its term has ended. Correctness does not depend on the leader: a batch is done only by a process that has
 * seen the one before.
 */
export class BulkRunner implements Service {
  readonly #options: BulkRunnerOptions
  readonly #runtime: Runtime
  readonly #id: string
  readonly #loop: Loop
  readonly #running = new Map<string, Promise<void>>()
  /** When the outcomes of an operation that has ended are counted again, and the pause before that. */
  readonly #looks = new Map<string, { readonly at: number; readonly pauseMs: number }>()
  /** Of operations that could not be continued: how often in a row, and the error that was logged. */
  readonly #failures = new Map<string, { readonly count: number; readonly logged: string }>()
  #stopping: AbortController | undefined
  /** One batch at a time, over all bulk operations. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(options: BulkRunnerOptions) {
    const { control, log, runtime = systemRuntime, only } = options
    this.#options = options
    this.#runtime = runtime
    this.#id = runtime.uuid()
    this.#loop = new Loop({
      what: 'looking for bulk operations',
      log,
      runtime,
      work: async () => {
        const open = only === undefined ? await control.bulkOperations.open() : [only]
        for (const known of [this.#looks, this.#failures])
          for (const id of known.keys()) if (!open.includes(id)) known.delete(id)
        for (const id of open) if ((this.#looks.get(id)?.at ?? 0) <= runtime.monotonic()) this.begin(id)
        return POLL_MS
      },
    })
  }

  start(): void {
    this.#stopping ??= new AbortController()
    this.#loop.start()
  }

  /** Runs an operation now instead of with the next poll. A runner that is not started leaves it to the others. */
  begin(id: string): void {
    const signal = this.#stopping?.signal
    if (!signal || this.#running.has(id)) return
    const running = this.#run(id, signal)
      .catch((error: unknown) => this.#fail(id, error))
      .finally(() => this.#running.delete(id))
    this.#running.set(id, running)
  }

  /** Waits for the batch that is under way; another process does the rest. */
  async stop(): Promise<void> {
    this.#stopping?.abort()
    this.#stopping = undefined
    await this.#loop.stop()
    await Promise.all(this.#running.values())
  }

  async #run(id: string, signal: AbortSignal): Promise<void> {
    const { store } = this.#options
    const term = new Term({ store, what: `${BULK_OPERATION_LEAD}${id}`, by: this.#id, termMs: TERM_MS })
    if (!(await term.take())) return
    const way: Way = { dueAt: 0, lookAt: 0, after: null, hasChanged: false }
    try {
      while (!signal.aborted) {
        await this.#sleep(Math.min(way.dueAt - this.#runtime.monotonic(), RENEW_MS), signal)
        const goesOn = await this.#inTurn(async () => (await term.take()) && this.#step(id, way, signal))
        this.#recover(id)
        if (!goesOn) return
      }
    } finally {
      await term.end()
    }
  }

  /** Runs the next batch, or counts outcomes. False: there is nothing to do now. */
  async #step(id: string, way: Way, signal: AbortSignal): Promise<boolean> {
    const { store, control } = this.#options
    const seen = await control.bulkOperations.get(id)
    if (!seen?.isOpen || signal.aborted) return false
    const startedAt = this.#runtime.monotonic()
    if (startedAt < way.dueAt) return true
    if (seen.finishedAt) return this.#lookBack(seen, way, signal)
    if (seen.outcomes && startedAt >= way.lookAt) {
      way.lookAt = startedAt + LOOK_MS
      await this.#look(seen, way)
    } else if (mustWait(seen)) {
      way.dueAt = way.lookAt
      return true
    } else {
      const { limit, msPerJob } = batchRate(seen)
      const after = await store.bulkOperations.advance(seen, limit)
      way.dueAt = startedAt + msPerJob * (after ? handled(after) - handled(seen) : 0)
    }
    await this.#sleep(Math.max(REST_MS, this.#runtime.monotonic() - startedAt), signal)
    return true
  }

  /** Counts outcomes until all jobs were covered; if nothing changed, the next count is later. */
  async #lookBack(seen: BulkOperationRow, way: Way, signal: AbortSignal): Promise<boolean> {
    const startedAt = this.#runtime.monotonic()
    await this.#look(seen, way)
    if (way.after !== null) {
      await this.#sleep(Math.max(REST_MS, this.#runtime.monotonic() - startedAt), signal)
      return true
    }
    const { pauseMs: before = LOOK_MS } = this.#looks.get(seen.id) ?? {}
    const pauseMs = way.hasChanged ? LOOK_MS : Math.min(before * 2, MAX_LOOK_MS)
    this.#looks.set(seen.id, { at: this.#runtime.monotonic() + pauseMs, pauseMs })
    return false
  }

  async #look(seen: BulkOperationRow, way: Way): Promise<void> {
    const followed = await this.#options.store.bulkOperations.follow(seen, way.after)
    way.after = followed?.next ?? null
    if (followed && followed.operation.step !== seen.step) way.hasChanged = true
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }

  #recover(id: string): void {
    if (this.#failures.delete(id)) this.#options.log.info({ operation: id }, 'bulk operation continues')
  }

  /**
   * One with a retryable error is continued later. So is one that has finished: only the outcomes of its jobs are not
   * counted. Logged when the error is another one than before.
   */
  async #fail(id: string, cause: unknown): Promise<void> {
    const { store, control, log } = this.#options
    const error = toOncueError(cause)
    const { code } = error
    const logged = `${code} ${error.message}`
    const { count = 0, logged: before } = this.#failures.get(id) ?? {}
    this.#failures.set(id, { count: count + 1, logged })
    const pauseMs = backoff(count, FAILURE_BACKOFF, this.#runtime)
    this.#looks.set(id, { at: this.#runtime.monotonic() + pauseMs, pauseMs: LOOK_MS })
    const isNews = logged !== before
    if (error.retryable) {
      if (isNews) log.warn({ err: cause, operation: id }, 'bulk operation interrupted; it is continued later')
      return
    }
    if (isNews) log.error({ err: cause, operation: id }, 'bulk operation failed')
    const message = isOurFault(error)
      ? `Internal error; see the server log for bulk operation ${id}`
      : error.message
    try {
      const seen = await control.bulkOperations.get(id)
      if (seen) await store.bulkOperations.fail(seen, { code, message })
    } catch (failure) {
      log.error({ err: failure, operation: id }, 'could not record the failure of a bulk operation')
    }
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) await this.#runtime.sleep(ms, { signal })
  }
}

/** How far a process has come with an operation, as long as it leads it. */
interface Way {
  /** When the next batch is due. */
  dueAt: number
  /** When outcomes are counted next, and behind which batch. */
  lookAt: number
  after: number | null
  hasChanged: boolean
}

/** The rest depends on jobs that have not ended. */
function mustWait(operation: BulkOperationRow): boolean {
  const { stopWhenFailing, outcomes } = operation
  if (awaitsCanary(operation)) return true
  return stopWhenFailing !== null && outcomes !== null && outcomes.waiting + outcomes.running >= MAX_IN_FLIGHT
}

/** How much time each job of a spread operation has, and how many jobs a batch takes; the store has its own limit. */
export function batchRate({ spreadMs, total }: Pick<BulkOperationRow, 'spreadMs' | 'total'>): {
  readonly msPerJob: number
  readonly limit: number
} {
  const msPerJob = total === 0 ? 0 : spreadMs / total
  return { msPerJob, limit: Math.ceil(BATCH_EVERY_MS / msPerJob) }
}

function handled({ done, skipped }: BulkOperationRow): number {
  return Object.values(skipped).reduce((sum, count) => sum + count, done)
}
