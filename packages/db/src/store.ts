import type { Job, JobError, JobId, JobStatus, NewJob, RetryPolicy } from '@oncue/core'
import type { Capabilities } from './capabilities.ts'
import type { Transaction } from './transaction.ts'

/**
 * The one seam between Oncue and a database. Both dialects keep every guarantee written here; the
 * conformance suite (`@oncue/db/conformance`) shows it.
 *
 * Promise: at-least-once execution, exactly-once settlement. Every write of a run carries
 * `(id, run)`; a run that was taken over can change nothing.
 */
export interface Store {
  readonly dialect: 'postgres' | 'sqlite'
  readonly capabilities: Capabilities

  /**
   * Stores jobs, all or none, and answers their ids in the same order. With `tx` they belong to the
   * caller's transaction: rolled back means never seen, and an error of the database is the driver's
   * own, as in the caller's other statements. A better-sqlite3 transaction is synchronous, so there
   * the rows are written, and errors thrown, before this returns.
   */
  enqueue(jobs: readonly NewJob[], options?: EnqueueIn): Promise<JobId[]>

  /**
   * Takes up to `limit` ready jobs: queue by queue in the order given, then by priority, by when
   * they became due (a job that was put back: when it was put back), and id. No job goes to two live runs. When it finds nothing it says when the next job is due.
   */
  claim(request: ClaimRequest): Promise<Claimed>

  /**
   * Ends runs, as one transaction. A stale entry changes nothing and is reported. An entry whose
   * value the database refuses fails its own job and not the batch, and is reported too.
   */
  settle(settlements: readonly Settlement[]): Promise<Settled>

  /** `settle`, then `claim`, in one round trip. */
  settleAndClaim(settlements: readonly Settlement[], request: ClaimRequest): Promise<Settled & Claimed>

  /** Extends the leases of many runs at once and answers those that are no longer the caller's. */
  heartbeat(request: HeartbeatRequest): Promise<{ lost: RunRef[] }>

  /**
   * The runs that the database counts as this worker's. After a claim whose answer was lost with
   * the connection, those the worker does not know of are to be released. A scan: for that case only.
   */
  held(worker: string): Promise<RunRef[]>

  /** Makes a worker visible to the others until `leave()`, or until its process dies. */
  attend(worker: WorkerInfo): Promise<Presence>

  /** Frees the runs of workers that died. Every worker calls it in its poll; two at once are safe. */
  rescue(): Promise<Rescued[]>

  /** Puts finished jobs back: attempts start anew, the run number goes on. */
  requeue(ids: readonly JobId[]): Promise<ActionReport>

  get(id: JobId): Promise<Job | null>
  list(filter?: ListFilter): Promise<JobPage>
  stats(): Promise<StoreStats>

  /** The store's clock: the database's on Postgres, the host's on SQLite. */
  now(): Promise<Date>

  /** Lets go of everything it opened. A second call does nothing; any other call fails with STORE_CLOSED. */
  close(): Promise<void>
}

export type EnqueueIn = { readonly tx?: Transaction | undefined }

/** One claim of one job: the fence that every later write of the run carries. */
export type RunRef = { readonly id: JobId; readonly run: number }

export type ClaimRequest = {
  /** In order of preference: the second is looked at when the first has nothing ready. */
  readonly queues: readonly string[]
  /** Only these topics; all when absent. Other topics at a queue's head are walked over. */
  readonly topics?: readonly string[] | undefined
  readonly limit: number
  /** How many of the claimed start at once (default: all). The rest is prefetched: a crash does not charge it. */
  readonly start?: number | undefined
  /** Id of the worker, a UUID. */
  readonly worker: string
  readonly leaseMs: number
}

export type ClaimedJob = RunRef & {
  readonly queue: string
  readonly topic: string
  readonly payload: unknown
  readonly priority: number
  readonly runAt: Date
  readonly created: Date
  readonly retries: number
  readonly maxRetries: number
  readonly crashes: number
  readonly retry: RetryPolicy | null
  readonly timeoutMs: number
  readonly parentId: JobId | null
  readonly cursor: unknown
  readonly trace: string | null
  readonly meta: Record<string, unknown> | null
  readonly uniqueKey: string | null
  readonly concurrencyKey: string | null
}

export type Claimed = {
  readonly jobs: ClaimedJob[]
  /** When nothing was claimed: when the next job of these queues becomes visible, if there is one. */
  readonly nextDue: Date | null
  readonly now: Date
}

export type Settlement = RunRef &
  (
    | { readonly kind: 'complete' /** JSON text */; readonly result?: string | null | undefined }
    /** Charged. Fails the job for good when no retries are left: the store decides, in the same statement. */
    | { readonly kind: 'retry'; readonly delayMs: number; readonly error: JobError }
    | { readonly kind: 'fail'; readonly error: JobError }
    /** Later, uncharged. */
    | { readonly kind: 'snooze'; readonly delayMs: number }
    /** Given back at once, uncharged. */
    | { readonly kind: 'release' }
    | { readonly kind: 'cancel'; readonly error?: JobError | undefined }
  )

export type Settled = {
  /** Runs that were taken over, or settled before: nothing was written for them. */
  readonly stale: RunRef[]
  /** Entries whose value the database refused: their jobs are failed with the reason. */
  readonly refused: (RunRef & { readonly reason: string })[]
}

export type HeartbeatRequest = {
  readonly worker: string
  readonly leaseMs: number
  /** `started: false` for a prefetched run that only waits. */
  readonly runs: readonly (RunRef & { readonly started?: boolean | undefined })[]
}

export type WorkerInfo = {
  /** A UUID. */
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly queues: readonly string[]
  readonly concurrency: number
  readonly version: string
}

export type Presence = {
  /** False where others cannot see a death (a transaction pooler): then only the lease tells. */
  readonly visible: boolean
  /** The worker is gone on purpose: nothing of it is rescued. */
  leave(): Promise<void>
}

export type Rescued = { readonly worker: string; readonly released: number; readonly failed: number }

export type ActionReport = { readonly done: number; readonly skipped: Record<string, number> }

export type ListFilter = {
  readonly status?: JobStatus | undefined
  readonly queue?: string | undefined
  readonly topic?: string | undefined
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

export type JobPage = { readonly items: Job[]; readonly total: number }

export type StoreStats = Record<JobStatus, number>
