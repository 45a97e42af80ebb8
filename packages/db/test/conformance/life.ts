import { isFinished, type JobId, type JobStatus } from '@oncue/core'
import { expect } from 'vitest'
import type { ClaimedJob, Settlement, Store } from '../../src/store.ts'
import { aJob, anError, claiming, MINUTE, type TestClock } from './harness.ts'
import type { Random } from './random.ts'

export const QUEUES = ['default', 'high', 'low'] as const
export const TOPICS = ['mail', 'report', 'sync'] as const
/** So long that no lease expires here, however far the clock goes. */
const DAY = 24 * 60 * MINUTE
const FINGERPRINTS = ['f00d', 'beef', 'cafe'] as const

/** What must be true of a job, modelled without a database. */
export type Known = {
  readonly id: JobId
  readonly queue: string
  readonly topic: string
  readonly created: Date
  readonly agent: number
  status: JobStatus
  fingerprint: string | null
}

/** A run that ended its job, or failed and is retried, as the statistics should count it. */
export type Ended = {
  readonly at: Date
  readonly queue: string
  readonly topic: string
  readonly status: 'completed' | 'failed' | 'cancelled' | 'retried'
  /** Null: the job was cancelled without ever running, or is counted but not measured. */
  readonly run: { readonly waitMs: number; readonly runMs: number } | null
}

/**
 * Applies everything that can happen to jobs to a store, in random order, and keeps a naive model
 * beside it: which jobs exist, and which have ended.
 */
export class Life {
  readonly jobs = new Map<JobId, Known>()
  readonly ended: Ended[] = []
  readonly #store: Store
  readonly #clock: TestClock
  readonly #random: Random
  readonly #running = new Map<JobId, { readonly job: ClaimedJob; readonly since: Date }>()

  constructor(store: Store, clock: TestClock, random: Random) {
    this.#store = store
    this.#clock = clock
    this.#random = random
  }

  async step(): Promise<void> {
    const ways = [
      this.enqueue,
      this.enqueue,
      this.#claim,
      this.#claim,
      this.#settle,
      this.#settle,
      this.#settle,
      this.#requeue,
      this.#cancel,
      this.#delete,
      this.#prune,
      this.#rollUp,
    ]
    await this.#random.pick(ways).call(this)
    // Often the clock stands still: jobs that share a moment are the harder case.
    if (this.#random.below(3) === 0) this.#clock.advance(this.#random.below(40_000))
  }

  async enqueue(): Promise<void> {
    const jobs = Array.from({ length: 1 + this.#random.below(6) }, () => {
      const [queue, topic, agent] = [
        this.#random.pick(QUEUES),
        this.#random.pick(TOPICS),
        this.#random.below(3),
      ]
      return { ...aJob({ queue, topic, meta: { agent }, maxRetries: 1 }), agent }
    })
    await this.#store.enqueue(jobs)
    const created = this.#clock.now()
    for (const { id, queue, topic, agent } of jobs)
      this.jobs.set(id, { id, queue, topic, agent, created, status: 'pending', fingerprint: null })
  }

  async #claim(): Promise<void> {
    const { jobs } = await this.#store.claim(
      claiming({ queues: QUEUES, limit: 1 + this.#random.below(6), leaseMs: DAY }),
    )
    for (const job of jobs) {
      this.#change(job.id, 'processing')
      this.#running.set(job.id, { job, since: this.#clock.now() })
    }
  }

  async #settle(): Promise<void> {
    const runs = this.#random.some([...this.#running.values()], 6)
    const settlements = runs.map(({ job }) => this.#outcome(job))
    expect(await this.#store.settle(settlements)).toEqual({ stale: [], refused: [] })
    for (const [i, { job, since }] of runs.entries()) {
      const settlement = settlements[i]
      if (!settlement) continue
      this.#running.delete(job.id)
      const status = statusAfter(settlement, job)
      const failedWith = 'error' in settlement ? settlement.error?.fingerprint : undefined
      this.#change(job.id, status, settlement.kind === 'snooze' ? null : failedWith)
      if (settlement.kind === 'retry' && status === 'pending') this.#end(job, 'retried', null)
      if (!isFinished(status)) continue
      const run = {
        waitMs: since.getTime() - job.runAt.getTime(),
        runMs: this.#clock.now().getTime() - since.getTime(),
      }
      this.#end(job, status, run)
    }
  }

  #outcome({ id, run }: ClaimedJob): Settlement {
    const fingerprint = this.#random.pick(FINGERPRINTS)
    const error = { ...anError, message: `No ${fingerprint}`, fingerprint }
    return this.#random.pick<Settlement>([
      { id, run, kind: 'complete' },
      { id, run, kind: 'complete', result: '{"sent":3}' },
      { id, run, kind: 'fail', error },
      { id, run, kind: 'retry', delayMs: 1_000, error },
      { id, run, kind: 'snooze', delayMs: 1_000 },
      { id, run, kind: 'release' },
      { id, run, kind: 'cancel' },
    ])
  }

  async #requeue(): Promise<void> {
    const ids = this.#random.some(this.#in('completed', 'failed', 'cancelled'), 5)
    expect(await this.#store.requeue(ids)).toEqual({ done: ids.length, skipped: {} })
    for (const id of ids) this.#change(id, 'pending', null)
  }

  async #cancel(): Promise<void> {
    const ids = this.#random.some(this.#in('pending'), 2)
    expect(await this.#store.cancel(ids)).toEqual({ done: ids.length, skipped: {} })
    for (const id of ids) {
      this.#change(id, 'cancelled')
      const job = this.jobs.get(id)
      if (job) this.#end(job, 'cancelled', null)
    }
  }

  async #delete(): Promise<void> {
    const ids = this.#random.some(this.#in('pending', 'failed'), 3)
    expect(await this.#store.delete(ids)).toEqual({ done: ids.length, skipped: {} })
    for (const id of ids) this.jobs.delete(id)
  }

  async #prune(): Promise<void> {
    const status = this.#random.pick(['completed', 'failed', 'cancelled'] as const)
    const finishedBefore = new Date(this.#clock.now().getTime() - this.#random.below(2 * MINUTE))
    const before = this.#in(status)
    const pruned = await this.#store.prune({ status, finishedBefore, limit: 1 + this.#random.below(10) })
    const left = await Promise.all(before.map((id) => this.#store.get(id)))
    const gone = before.filter((_, i) => !left[i])
    expect(gone).toHaveLength(pruned)
    for (const id of gone) this.jobs.delete(id)
  }

  async #rollUp(): Promise<void> {
    await this.#store.rollUp()
  }

  #in(...statuses: JobStatus[]): JobId[] {
    return [...this.jobs.values()].filter(({ status }) => statuses.includes(status)).map(({ id }) => id)
  }

  /** Without a fingerprint the job keeps the one that it has. */
  #change(id: JobId, status: JobStatus, fingerprint?: string | null): void {
    const job = this.jobs.get(id)
    if (!job) throw new Error(`the model has no job ${id}`)
    job.status = status
    if (fingerprint !== undefined) job.fingerprint = fingerprint
  }

  #end({ queue, topic }: Pick<Known, 'queue' | 'topic'>, status: Ended['status'], run: Ended['run']): void {
    this.ended.push({ at: this.#clock.now(), queue, topic, status, run })
  }
}

function statusAfter(settlement: Settlement, job: ClaimedJob): JobStatus {
  switch (settlement.kind) {
    case 'complete':
      return 'completed'
    case 'undone':
    case 'fail':
      return 'failed'
    case 'cancel':
      return 'cancelled'
    case 'retry':
      return job.retries < job.maxRetries ? 'pending' : 'failed'
    case 'snooze':
    case 'release':
      return 'pending'
    case 'suspend':
      return settlement.waits.some(({ delayMs }) => delayMs !== undefined) ? 'pending' : 'blocked'
  }
}
