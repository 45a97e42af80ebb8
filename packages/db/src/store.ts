import type { Job, JobError, JobId, NewJob } from '@oncue/core'
import type {
  ActionReport,
  FailureGroup,
  FailuresRequest,
  JobDetails,
  JobFilter,
  JobPage,
  JobStats,
  Limit,
  LimitTarget,
  PageRequest,
  Percentiles,
  QueueOverview,
  QueueSettings,
  SeriesRequest,
  TopicAnnouncement,
  TopicRow,
  SeriesPoint as WireSeriesPoint,
  WorkerInfo,
  WorkerRow,
} from '@oncue/core/wire'
import type { Capabilities } from './capabilities.ts'
import type { FieldIn } from './job-columns.ts'
import type { AlertStore } from './portable/alerts.ts'
import type { AuditStore } from './portable/audit.ts'
import type { OperationStore } from './portable/bulk-operations.ts'
import type { ChannelStore } from './portable/channels.ts'
import type { EventStore, NewEvent } from './portable/events/event.ts'
import type { GaugeStore } from './portable/gauges.ts'
import type { PairingStore } from './portable/pairings.ts'
import type { ScheduleStore } from './portable/schedules.ts'
import type { SettingStore } from './portable/settings.ts'
import type { TokenStore } from './portable/tokens.ts'
import type { Transaction } from './queue/transaction.ts'

/**
 * The one seam between Oncue and a database. Both dialects keep every guarantee written here; the
 * conformance suite (`@oncue/db/conformance`) shows it.
 *
 * Promise: at-least-once execution, exactly-once settlement. Every write of a run carries
 * `(id, run)` and its worker; a run that was taken over can change nothing.
 */
export interface Store {
  readonly dialect: 'postgres' | 'sqlite'
  readonly capabilities: Capabilities
  /** Where it is, for a second store on it from another thread; of `:memory:` the temporary file. */
  readonly url: string
  /** Which installation it is of those that share the database. */
  readonly schema: string
  readonly events: EventStore
  readonly schedules: ScheduleStore
  readonly tokens: TokenStore
  readonly pairings: PairingStore
  readonly operations: OperationStore
  readonly audit: AuditStore
  readonly settings: SettingStore
  readonly alerts: AlertStore
  readonly channels: ChannelStore
  readonly gauges: GaugeStore

  // --- work: the hot path

  /**
   * Stores jobs, all or none, and answers in the same order which jobs stand for them: the new ones,
   * or those that hold their key already. With `tx` they belong to the caller's transaction: rolled
   * back means never seen, nobody is woken before the commit, and an error of the database is the
   * driver's own, as in the caller's other statements. A better-sqlite3 transaction is synchronous,
   * so there the rows are written, and errors thrown, before this returns.
   */
  enqueue(jobs: readonly NewJob[], options?: EnqueueIn): Promise<JobId[]>

  /** The same, and what became of each. */
  enqueueWithOutcomes(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]>

  /**
   * Takes up to `limit` ready jobs: queue by queue in the order given, then by priority, by when
   * they became due (a job that was put back: when it was put back), and id. No job goes to two live
   * runs; limits hold over all processes; paused queues give nothing. When it finds nothing it says
   * when to look again.
   */
  claim(request: ClaimRequest): Promise<Claimed>

  /**
   * Ends runs, as one transaction, with all that follows: history, released dependants, freed slots
   * and keys. A stale entry changes nothing and is reported. An entry whose value the database
   * refuses fails its own job and not the batch, and is reported too.
   *
   * With `worker`, only runs that this worker claimed are current. Workers always name themselves: after a failover
   * that lost commits, `run` may be given out twice, to two workers.
   */
  settle(settlements: readonly Settlement[], worker?: string): Promise<Settled>

  /** `settle` of runs of the worker that claims, then `claim`, in one round trip. */
  settleAndClaim(settlements: readonly Settlement[], request: ClaimRequest): Promise<Settled & Claimed>

  /** Extends the leases of many runs of a worker at once. Answers those that are lost, and those asked to stop. */
  heartbeat(request: HeartbeatRequest): Promise<Beaten>

  /**
   * What runs have to tell before they end. A stale one changes nothing and is reported. Sent twice,
   * events are written twice. `worker` as for `settle`.
   */
  note(notes: readonly RunNote[], worker?: string): Promise<{ readonly stale: RunRef[] }>

  /**
   * The runs that the database counts as this worker's. After a claim whose answer was lost with
   * the connection, those the worker does not know of are to be released. A scan: for that case only.
   */
  held(worker: string): Promise<RunRef[]>

  /** Makes a worker visible to the others until `leave()`, or until its process dies. */
  attend(worker: WorkerInfo): Promise<Presence>

  /**
   * Frees the runs of workers that died, and sees to what settles cannot see. Every worker calls it
   * in its poll, with its id, which then counts as a beat; two at once are safe.
   */
  rescue(worker?: string): Promise<Rescue>

  /**
   * Calls `wake` when there may be something new in one of the queues. A hint, never the truth:
   * a wake-up can be missed, so callers poll as well.
   */
  onWake(queues: readonly string[], wake: () => void): Promise<Subscription>

  // --- people's actions. By ids, or by a filter as of a moment, in bounded batches. One that fails midway
  // leaves what was done before; the details of its error are the report up to then.

  /** Puts finished jobs back: attempts start anew, the run number goes on. */
  requeue(target: Target, options?: ActionOptions): Promise<ActionReport>
  /** Ends what waits. Asks what runs: the run learns of it with its next heartbeat. */
  cancel(target: Target, options?: ActionOptions): Promise<ActionReport>
  /** Pending or failed jobs only, and none that others wait for. */
  delete(target: Target, options?: ActionOptions): Promise<ActionReport>

  pause(queue: string, by?: string): Promise<void>
  resume(queue: string, by?: string): Promise<void>
  /** Limits a queue or a concurrency key; `null` takes the limit away. In effect at once. */
  limit(target: LimitTarget, limit: Limit | null): Promise<void>
  /** What a worker serves, for people and for validation. */
  announce(topics: readonly TopicAnnouncement[], by?: AnnouncedBy): Promise<void>

  // --- reads, over live and finished jobs as if they were one table

  /** With payload, result, error, and the first events of its stream (`events.list` has the rest). */
  get(id: JobId): Promise<JobDetails | null>
  /** What one wants to know of a job while waiting for it, of many jobs at once; those that nobody has are left out. */
  glance(ids: readonly JobId[]): Promise<Map<JobId, JobGlance>>
  list(filter?: JobFilter, page?: PageRequest): Promise<JobPage>
  stats(filter?: Pick<JobFilter, 'queue' | 'topic'>): Promise<JobStats>
  /** Failed jobs by fingerprint, those that failed last first, or the largest group. */
  failures(filter?: FailureFilter): Promise<FailureGroup[]>
  queues(): Promise<QueueOverview[]>
  /** Whether a job that such a claim would take is due and waits for the rate of its queue or key. */
  throttled(request: Pick<ClaimRequest, 'queues' | 'topics'>): Promise<boolean>
  workers(): Promise<WorkerRow[]>
  topics(): Promise<TopicRow[]>
  /** Topics of which workers that live have announced different schemas. */
  topicClashes(): Promise<TopicClash[]>
  /** What happened, minute by minute or step by step, the empty ones left out. */
  series(request: SeriesRequest): Promise<SeriesPoint[]>
  /** How much ended in each queue, minute by minute, from a moment on, up to and without another. */
  activity(range: { readonly from: Date; readonly to: Date }): Promise<ActivityPoint[]>

  // --- maintenance. Idempotent; one process at a time is enough.

  /**
   * True: `by` leads `what` for the next `termMs`, and nobody else does. All who would lead the same thing
   * name the same term: one that ends later than now + 2 × `termMs` is from before the clock was set back.
   */
  lead(what: string, by: string, termMs: number): Promise<boolean>
  /** Lets go, so that another need not wait for the end of the term. A worker that dies lets go too. */
  stepDown(what: string, by: string): Promise<void>

  /** Adds up what settles noted down; answers how many notes. */
  rollUp(): Promise<number>
  /** Removes finished jobs with all that belongs to them, one batch per call; answers how many. */
  prune(rule: PruneRule): Promise<number>

  /** The store's clock: the database's on Postgres, the host's on SQLite. */
  now(): Promise<Date>

  /** How busy its connections are; null where there are none to share. */
  pool(): PoolState | null

  /** Lets go of everything it opened. A second call does nothing; any other call fails with STORE_CLOSED. */
  close(): Promise<void>
}

export type {
  ActionReport,
  FailureGroup,
  JobDetails,
  JobFilter,
  JobPage,
  JobStats,
  Limit,
  LimitTarget,
  PageRequest,
  QueueOverview,
  QueueSettings,
  SeriesRequest,
  TopicAnnouncement,
  TopicRow,
  WorkerInfo,
  WorkerRow,
}

/** The job that stands for one that was enqueued: it is new, was there already, or was there and got the new payload. */
export type EnqueueOutcome = { readonly id: JobId; readonly kind: 'created' | 'existing' | 'replaced' }

export type EnqueueIn = { readonly tx?: Transaction | undefined }

/** One claim of one job: with its worker, the fence that every later write of the run carries. */
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
  /** Also what was committed long after it was dated, which other claims find within a second. */
  readonly thorough?: boolean | undefined
}

export type ClaimedJob = Readonly<Pick<Job, FieldIn<'claim' | 'extras'>>>

export type Claimed = {
  readonly jobs: ClaimedJob[]
  /** When nothing was claimed: when there may be something in these queues, if that is known. */
  readonly nextDue: Date | null
  readonly now: Date
  /** True: a claim was sent, and its answer was lost with the connection. `held` tells what it took. */
  readonly unanswered?: boolean | undefined
}

export type Settlement = RunRef &
  (
    | { readonly kind: 'complete' /** JSON text */; readonly result?: string | null | undefined }
    /** Charged. Fails the job for good when no retries are left: the store decides, in the same statement. */
    | { readonly kind: 'retry'; readonly delayMs: number; readonly error: JobError }
    | { readonly kind: 'fail'; readonly error: JobError }
    /** Later, uncharged. */
    | { readonly kind: 'snooze'; readonly delayMs: number }
    /** Given back at once, uncharged. `interrupted`: its handler had begun, which the job's events then tell. */
    | { readonly kind: 'release'; readonly interrupted?: boolean | undefined }
    | { readonly kind: 'cancel'; readonly error?: JobError | undefined }
  )

export type Settled = {
  /** Runs that were taken over, or settled before: nothing was written for them. */
  readonly stale: RunRef[]
  /** Runs after which the job was to go on, and is cancelled: it was asked to stop, or replaced. */
  readonly cancelled?: RunRef[] | undefined
  /**
   * Entries that the database refused. Their jobs are failed with `error`; without one not even that could be
   * written, and the end of the lease frees the job.
   */
  readonly refused: (RunRef & { readonly reason: string; readonly error?: JobError | undefined })[]
}

export type HeartbeatRequest = {
  readonly worker: string
  readonly leaseMs: number
  /** `started: false` for a prefetched run that only waits. */
  readonly runs: readonly (RunRef & { readonly started?: boolean | undefined })[]
}

export type Beaten = {
  readonly lost: RunRef[]
  /** Runs that somebody asked to stop. */
  readonly cancelled: RunRef[]
  /** Runs that were not extended because another transaction has locked their rows: beat for them again soon. */
  readonly locked?: RunRef[] | undefined
}

export type RunNote = RunRef & {
  /** JSON text; the last one stays. */
  readonly progress?: string | undefined
  /** JSON text: where a later run goes on. */
  readonly cursor?: string | undefined
  readonly events?: readonly NewEvent[] | undefined
}

export type Presence = {
  /** False where others cannot see a death (a transaction pooler): then only the lease tells. */
  readonly visible: boolean
  /** The worker is gone on purpose: nothing of it is rescued. */
  leave(): Promise<void>
}

export type Rescue = {
  readonly rescued: Rescued[]
  /** Somebody is missing, and dead unless back by then. */
  readonly lookAgainMs: number | null
}

export type Rescued = { readonly worker: string; readonly released: number; readonly failed: number }

export type Subscription = { close(): Promise<void> }

/**
 * What people act on: ids, a filter, or all jobs but Oncue's own. A filter has at least one condition, and none
 * that is undefined: that is a variable that was not set, and would widen the action.
 */
export type Target = readonly JobId[] | ActionFilter | { readonly all: true }

type Conditions = { readonly [Name in keyof JobFilter]?: Exclude<JobFilter[Name], undefined> }
export type ActionFilter = {
  [Name in keyof Conditions]-?: Conditions & Required<Pick<Conditions, Name>>
}[keyof Conditions]

export type ActionOptions = {
  /** Who does it; kept in the job's events. */
  readonly by?: string | undefined
  /** Touch only what matched at this moment: what failed or came later is left alone. Default: now. */
  readonly asOf?: Date | undefined
}

export type JobGlance = Pick<Job, 'topic' | 'status' | 'run' | 'runAt' | 'progress' | 'created' | 'updated'>

export type AnnouncedBy = {
  /** The id of the worker. */
  readonly worker: string
  /** What it is a part of: schedules in code belong to it. */
  readonly service: string
}

/** A job of this topic may be run by a worker that refuses its payload. */
export type TopicClash = {
  readonly topic: string
  /** One for each of the schemas: who announced it. */
  readonly sides: readonly {
    readonly services: readonly string[]
    readonly workers: readonly { readonly id: string; readonly host: string; readonly pid: number }[]
  }[]
}

export type FailureFilter = FailuresRequest & {
  /** Default: `latest`. */
  readonly order?: 'latest' | 'largest' | undefined
}

export type ActivityPoint = Pick<
  WireSeriesPoint,
  'minute' | 'completed' | 'failed' | 'cancelled' | 'retried'
> & { readonly queue: string }

export type SeriesPoint = WireSeriesPoint & { readonly wait: Durations; readonly run: Durations }

export type Durations = Percentiles & {
  /** How many there were, by bucket: those below `DURATION_BUCKETS_MS[n]` and not below the one before. */
  readonly counts: readonly number[]
}

/** Connections to the database that this store has, how many of them have nothing to do, and who waits for one. */
export type PoolState = { readonly total: number; readonly idle: number; readonly waiting: number }

export type PruneRule = {
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly finishedBefore: Date
  /** 1 000 */
  readonly limit?: number | undefined
}
