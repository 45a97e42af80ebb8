import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { OncueError } from '@oncue/core'
import { INTERNAL_QUEUE } from '@oncue/core/internal'
import type { Claimed, ClaimedJob, Settlement, Store } from '@oncue/db'
import { Inbox } from '../live/inbox.ts'
import type { Logger } from '../log.ts'
import { retried } from './settlement.ts'

/** Runs one job; the signal says that the process wants to end. What it throws is retried. */
export type Handler = (job: ClaimedJob, signal: AbortSignal) => Promise<Settlement>

const SLOTS = 100
/** For what another process left, and what people requeued. */
const POLL_MS = 5_000
/** Longer than a run takes, so that none needs heartbeats. When a process dies, its runs begin anew after this. */
const LEASE_MS = 60_000
/** At the end, for what is on its way. */
const GRACE_MS = 1_000

/**
 * Runs Oncue's own jobs in the API: that no worker is left must be told although no worker is left. So it is no
 * worker either, and nobody counts it as one.
 */
export class Runner {
  readonly #store: Store
  readonly #log: Logger
  readonly #handlers: ReadonlyMap<string, Handler>
  readonly #id = randomUUID()
  readonly #inbox = new Inbox()
  readonly #running = new Set<Promise<void>>()
  readonly #givingUp = new AbortController()
  #isClosing = false
  #looking: Promise<void> = Promise.resolve()

  constructor(store: Store, log: Logger, handlers: ReadonlyMap<string, Handler>) {
    this.#store = store
    this.#log = log
    this.#handlers = handlers
  }

  start(): void {
    this.#looking = this.#look()
  }

  /** There is something to do. */
  wake(): void {
    this.#inbox.ring()
  }

  /** What is on its way has a moment; what is not done then is given back. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#inbox.ring()
    await this.#looking
    await Promise.race([this.#ended(), sleep(GRACE_MS, undefined, { ref: false })])
    this.#givingUp.abort()
    await this.#ended()
  }

  async #ended(): Promise<void> {
    await Promise.all(this.#running)
  }

  async #look(): Promise<void> {
    while (!this.#isClosing) {
      const waitMs = await this.#claim().catch((error: unknown) => {
        this.#log.warn({ err: error }, 'no notifications can be sent: the database does not answer')
        return POLL_MS
      })
      const timer = setTimeout(this.#inbox.ring, waitMs)
      await this.#inbox.wait()
      clearTimeout(timer)
    }
  }

  /** Answers when to look again. */
  async #claim(): Promise<number> {
    const limit = SLOTS - this.#running.size
    // The next that ends rings.
    if (limit === 0) return POLL_MS
    const claimed = await this.#store.claim({
      queues: [INTERNAL_QUEUE],
      topics: [...this.#handlers.keys()],
      limit,
      worker: this.#id,
      leaseMs: LEASE_MS,
    })
    for (const job of claimed.jobs) this.#begin(job)
    return lookAgainMs(claimed)
  }

  #begin(job: ClaimedJob): void {
    const run = this.#run(job).finally(() => {
      const wasFull = this.#running.size === SLOTS
      this.#running.delete(run)
      if (wasFull) this.#inbox.ring()
    })
    this.#running.add(run)
  }

  async #run(job: ClaimedJob): Promise<void> {
    try {
      await this.#store.settle([await this.#settlementOf(job)], this.#id)
    } catch (error) {
      // Its lease ends, and then it is sent once more.
      this.#log.warn({ err: error, job: job.id }, 'the end of a notification could not be stored')
    }
  }

  async #settlementOf(job: ClaimedJob): Promise<Settlement> {
    const { id, run, topic } = job
    const { signal } = this.#givingUp
    try {
      const handle = this.#handlers.get(topic)
      if (!handle) throw new OncueError('UNKNOWN_TOPIC', `Nobody here knows ${topic}`)
      return await handle(job, signal)
    } catch (error) {
      if (signal.aborted) return { id, run, kind: 'release', interrupted: true }
      return retried(job, error)
    }
  }
}

/** At once where there may be more. What is due and was not claimed is another's, or paused: there is no hurry. */
export function lookAgainMs({ jobs, nextDue, now }: Claimed): number {
  if (jobs.length > 0) return 0
  const ms = nextDue ? nextDue.getTime() - now.getTime() : POLL_MS
  return ms > 0 ? Math.min(ms, POLL_MS) : POLL_MS
}
