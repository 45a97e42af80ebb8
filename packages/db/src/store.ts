import type { Job, JobEnding, JobError, JobId, NewJob } from '@oncue/core'
import type {
  ActionReport,
  Explanation,
  FailureGroup,
  FailuresRequest,
  Family,
  JobDetails,
  JobFilter,
  JobPage,
  JobStats,
  JobTree,
  Limit,
  LimitTarget,
  PageRequest,
  Percentiles,
  Question,
  QuestionFilter,
  QueueExplanation,
  QueueOverview,
  QueueSettings,
  SeriesRequest,
  Timeline,
  TopicAnnouncement,
  TopicRow,
  SeriesPoint as WireSeriesPoint,
  WorkerDetails,
  WorkerInfo,
  WorkerRow,
  WorkerRun,
} from '@oncue/core/wire'
import type { Capabilities } from './capabilities.ts'
import type { FieldIn } from './job-columns.ts'
import type { AlertStore } from './portable/alerts.ts'
import type { AuditStore } from './portable/audit.ts'
import type { BulkOperationStore } from './portable/bulk-operations.ts'
import type { ChannelStore } from './portable/channels.ts'
import type { EventStore, RunEvent } from './portable/events/event.ts'
import type { GaugeStore } from './portable/gauges.ts'
import type { DurableStore, SuspendedWait } from './portable/outcomes.ts'
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
  /** Its url, for opening a second store from another thread; for `:memory:` that of the temporary file. */
  readonly url: string
  /** The schema of its installation, of those that share the database. */
  readonly schema: string
  readonly events: EventStore
  readonly schedules: ScheduleStore
  readonly tokens: TokenStore
  readonly pairings: PairingStore
  readonly bulkOperations: BulkOperationStore
  readonly audit: AuditStore
  readonly settings: SettingStore
  readonly alerts: AlertStore
  readonly channels: ChannelStore
  readonly gauges: GaugeStore
  readonly durable: DurableStore
  /** For workers that rest. Null where only polls find jobs: on SQLite, and behind a transaction pooler. */
  readonly rest: RestStore | null

  // --- work: the hot path

  /**
   * Stores jobs, all or none. Returns their ids in the same order; for a job whose key is taken, the id of
   * the job that holds it. With `tx` they belong to the caller's transaction: a rollback removes them,
   * workers wake up at the commit, and database errors are the driver's own. A better-sqlite3 transaction
   * is synchronous, so there the rows are written, and errors thrown, before this returns.
   */
  enqueue(jobs: readonly NewJob[], options?: EnqueueIn): Promise<JobId[]>

  /** The same, with the outcome for each. */
  enqueueWithOutcomes(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]>

  /**
   * Takes up to `limit` ready jobs: queue by queue in the order given, then by priority, by due time (of a
   * job that was put back: when it was), and by id. No job has two live runs; limits hold across all
   * processes; paused queues are skipped. When nothing is ready, `nextDue` says when to claim again.
   */
  claim(request: ClaimRequest): Promise<Claimed>

  /**
   * Ends runs in one transaction, with all consequences: history, released dependants, freed slots
   * and keys. A stale entry changes nothing and is returned. An entry whose value the database
   * refuses fails its own job, not the batch, and is returned too.
   *
   * With `worker`, only runs that this worker claimed are current. Workers always name themselves: after a failover
   * that lost commits, two workers may hold the same `run`.
   */
  settle(settlements: readonly Settlement[], worker?: string): Promise<Settled>

  /** `settle` of runs of the worker that claims, then `claim`, in one round trip. */
  settleAndClaim(settlements: readonly Settlement[], request: ClaimRequest): Promise<Settled & Claimed>

  /** Extends the leases of many runs of a worker at once. Returns the lost ones, and those asked to stop. */
  heartbeat(request: HeartbeatRequest): Promise<Beaten>

  /**
   * Writes progress, cursors and events of runs. A stale entry changes nothing and is returned. Events
   * that are sent twice are written twice. `worker` as for `settle`.
   */
  recordProgress(updates: readonly RunUpdate[], worker?: string): Promise<{ readonly stale: RunRef[] }>

  /**
   * The runs that this worker owns according to the database. After a claim whose result was lost with
   * the connection, the worker releases those it does not know. A scan: for that case only.
   */
  ownedRuns(worker: string): Promise<RunRef[]>

  /** Makes a worker visible to the others until `leave()`, or until its process dies. */
  attend(worker: WorkerInfo): Promise<Presence>

  /**
   * Frees the runs of dead workers, and catches up on what concurrent settles could not see. Every worker calls it in
   * its poll, with its id, which counts as a heartbeat; concurrent calls are safe.
   */
  rescue(worker?: string): Promise<Rescue>

  /**
   * Calls `wake` when there may be something new in one of the queues. A hint: wake-ups can be missed, so
   * callers poll as well.
   */
  onWake(queues: readonly string[], wake: () => void): Promise<Subscription>

  // --- actions of people, by ids or by a filter as of a moment, in bounded batches. If one fails midway, the
  // batches before it stay done; the details of the error are the report up to then.

  /** Puts finished jobs back into their queues: attempts start anew, run numbers continue. */
  requeue(target: Target, options?: ActionOptions): Promise<ActionReport>
  /**
   * Makes scheduled and retrying jobs due at once; their retries stay as they are. Skipped: ALREADY_DUE, RUNNING, BLOCKED,
   * FINISHED, THROTTLED (due, but waits for a slot of its concurrency key), SUSPENDED.
   */
  runNow(target: Target, options?: ActionOptions): Promise<ActionReport>
  /**
   * Ends waiting jobs. Running ones are asked to stop, with their next heartbeat. One with registered undos is undone before
   * it ends; one that is being undone is skipped: UNDOING.
   */
  cancel(target: Target, options?: ActionOptions): Promise<ActionReport>
  /** Pending or failed jobs only, none that others wait for, and none that is suspended or has registered undos. */
  delete(target: Target, options?: ActionOptions): Promise<ActionReport>

  /**
   * Requeues one finished job with another payload; or one that waits for its retry, which is then due at once, with all its
   * retries. All or nothing, and only if the job is as the caller saw it: otherwise JOB_CHANGED. INVALID_STATE for a job that
   * runs, waits for a slot or for other jobs, or has not failed yet. Finished steps stay, as by `requeue`.
   */
  requeueWithPayload(change: PayloadChange): Promise<void>

  /**
   * Requeues one finished job that repeats a step and everything after it: what was recorded before the step stays, as by
   * `requeue`; the step and what was recorded later is forgotten, signals included. Children that were spawned since live
   * on alone, and are spawned anew; questions are asked anew. Without a step, from the start: also cursor and progress are
   * forgotten. Refused: JOB_NOT_FOUND, INVALID_STATE if it has not finished, STEP_NOT_FOUND, UNIQUE_KEY_LIVE.
   */
  requeueFrom(rerun: Rerun): Promise<void>

  /** Running jobs finish, no new ones start: until `resume`, or for `forMs` by the store's clock. */
  pause(queue: string, by?: string, forMs?: number): Promise<void>
  resume(queue: string, by?: string): Promise<void>
  /** Limits a queue or a concurrency key at once; `null` removes the limit. */
  limit(target: LimitTarget, limit: Limit | null): Promise<void>
  /** The topics that a worker serves, shown to people and used for validation. */
  announce(topics: readonly TopicAnnouncement[], by?: AnnouncedBy): Promise<void>

  // --- reads, over live and finished jobs as if they were one table

  /** With payload, result, error, and the first events of its stream (`events.list` has the rest). */
  get(id: JobId): Promise<JobDetails | null>
  /**
   * Why a job waits: everything that keeps it from running now, its position, and the jobs it waits for. Counts
   * are bounded, and say so. Null: there is no such job.
   */
  explain(id: JobId): Promise<Explanation | null>
  /**
   * What happened to a job and what it waits for, in one order, from its row, outcomes, questions and events: the newest
   * 1,000 of them. Null: there is no such job.
   */
  timeline(id: JobId): Promise<Timeline | null>
  /** Open questions of live jobs, the oldest first. */
  questions(filter?: QuestionFilter): Promise<Question[]>
  /** How many questions are open, counted up to 1,000, and when that was by the store's clock. */
  countQuestions(): Promise<{ readonly at: Date; readonly count: number }>
  /**
   * The parent of a job, its children, the jobs it waits for and those that wait for it: the first 50 of each. Children
   * are searched among the jobs that were made while it ran, up to a bound. Null: there is no such job.
   */
  family(id: JobId): Promise<Family | null>
  /**
   * A job with all that it is connected to by parents and children, batches, flows and dependencies, live or finished: up to
   * 1,000 jobs, the nearest ones. Waits of `after` are known until they are over, those of batches and flows as long as the
   * jobs. Null: there is no such job.
   */
  tree(id: JobId): Promise<JobTree | null>
  /**
   * How the jobs of a batch or flow ended that this one has waited for, in their order, page by page; `after` is the `next`
   * of the page before.
   */
  waitedFor(id: JobId, after?: number): Promise<WaitedForPage>
  /** The status and result of many jobs at once, for callers that wait for them; unknown ids are left out. */
  glance(ids: readonly JobId[]): Promise<Map<JobId, JobGlance>>
  list(filter?: JobFilter, page?: PageRequest): Promise<JobPage>
  stats(filter?: Pick<JobFilter, 'queue' | 'topic'>): Promise<JobStats>
  /**
   * Jobs whose last run failed, grouped by fingerprint: live ones that are retried, whenever they failed, and those
   * that gave up within a time. The group that was seen last comes first, or the largest.
   */
  failures(filter?: FailureFilter): Promise<FailureGroup[]>
  queues(): Promise<QueueOverview[]>
  /** Whether a job that such a claim would take is due but delayed by the rate of its queue or key. */
  throttled(request: Pick<ClaimRequest, 'queues' | 'topics'>): Promise<boolean>
  /**
   * Why the jobs of a queue wait, and about how long until none does. Counts are bounded; how many of the workers' slots are
   * busy is counted over all live jobs.
   */
  explainQueue(queue: string): Promise<QueueExplanation>
  /** Live and missing workers, and with `ended` those that stopped or were lost since, the last one first. */
  workers(options?: { readonly ended?: boolean | undefined }): Promise<WorkerRow[]>
  /**
   * A worker with what runs on it, searched up to a bound; of one that ended, what it held. Null: there is no such worker, or
   * it was pruned.
   */
  worker(id: string): Promise<WorkerDetails | null>
  topics(): Promise<TopicRow[]>
  /** Topics for which live workers have announced different schemas. */
  topicClashes(): Promise<TopicClash[]>
  /** Counts by minute or by step, without the empty ones. */
  series(request: SeriesRequest): Promise<SeriesPoint[]>
  /** How many jobs ended in each queue, by minute; `from` inclusive, `to` exclusive. */
  activity(range: { readonly from: Date; readonly to: Date }): Promise<ActivityPoint[]>

  // --- maintenance. Idempotent; one process at a time is enough.

  /**
   * True: `by` is the only leader of `what` for the next `termMs`. All candidates name the same term: one that
   * ends later than now + 2 × `termMs` is from before the clock was set back.
   */
  lead(what: string, by: string, termMs: number): Promise<boolean>
  /** Ends the term early, so that the next leader need not wait for it. The death of a worker has the same effect. */
  stepDown(what: string, by: string): Promise<void>

  /** Rolls up the counts that settles wrote; returns how many it took. */
  rollUp(): Promise<number>
  /** Removes finished jobs with all that belongs to them, one batch per call; returns how many. */
  prune(rule: PruneRule): Promise<number>
  /** Removes workers that ended before a moment, and all but the last thousand; returns how many. */
  pruneWorkers(endedBefore: Date): Promise<number>

  /** The store's clock: the database's on Postgres, the host's on SQLite. */
  now(): Promise<Date>

  /** How busy its connections are; null where there is no pool. */
  pool(): PoolState | null

  /** Closes everything it opened. A second call does nothing; other calls fail with STORE_CLOSED. */
  close(): Promise<void>
}

export type {
  ActionReport,
  Explanation,
  FailureGroup,
  JobDetails,
  JobFilter,
  JobPage,
  JobStats,
  Limit,
  LimitTarget,
  PageRequest,
  QueueExplanation,
  QueueOverview,
  QueueSettings,
  SeriesRequest,
  TopicAnnouncement,
  TopicRow,
  WorkerDetails,
  WorkerInfo,
  WorkerRow,
  WorkerRun,
}

/**
 * What a worker needs to send nothing for minutes, so that a database may sleep. Wake-ups reach it then, unless the server
 * closes the connection.
 */
export interface RestStore {
  /**
   * Calls `hear` for every wake-up, of whatever queue, also for jobs that are due later; with null when some may have been
   * missed.
   */
  onAnyWake(hear: (name: string | null) => void): Promise<Subscription>
  /** Whether no job runs anywhere, and a wake-up that was sent now has arrived. */
  isPossible(): Promise<boolean>
  /** Until this long from now the worker counts as seen, without heartbeats. */
  announceSilence(worker: string, ms: number): Promise<void>
  /**
   * From now on the store sends nothing by itself, no pings and no attempts to reconnect, unless another worker with an
   * `onAnyWake` of this store is awake.
   */
  pause(worker: string): void
  /** Ends that; harmless otherwise. Resolves when the presence of its workers is back, or could not be had. */
  resume(worker: string): Promise<void>
  /** Ends the rest of all workers: jobs run again. */
  rouse(): void
}

/** The job that an enqueue led to: a new one, an existing one, or an existing one that got the new payload. */
export type EnqueueOutcome = { readonly id: JobId; readonly kind: 'created' | 'existing' | 'replaced' }

export type EnqueueIn = {
  /** Your transaction. Default: one of its own. */
  readonly tx?: Transaction | undefined
}

/** One claim of one job: with its worker, the fence that every later write of the run carries. */
export type RunRef = { readonly id: JobId; readonly run: number }

export type ClaimRequest = {
  /** In order of preference: the second is served when the first has nothing ready. */
  readonly queues: readonly string[]
  /** Only these topics; all when absent. Jobs of other topics at the head of a queue are skipped. */
  readonly topics?: readonly string[] | undefined
  /** How many jobs at most. */
  readonly limit: number
  /** How many of the claimed jobs start at once (default: all). The rest is prefetched: a crash does not charge it. */
  readonly start?: number | undefined
  /** Id of the worker, a UUID. */
  readonly worker: string
  /** Milliseconds that the runs own their jobs without a heartbeat. */
  readonly leaseMs: number
  /** Also finds jobs that were committed long after their due time, which other claims find within a second. */
  readonly thorough?: boolean | undefined
}

export type ClaimedJob = Readonly<Omit<Pick<Job, FieldIn<'claim' | 'extras'>>, 'ending'>> & {
  readonly ending: StoredEnding | null
}

/** Without a status: the job has registered undos. Otherwise it is being undone, and must end so. */
export type StoredEnding = Partial<JobEnding> & {
  readonly error?: JobError | undefined
  readonly fingerprint?: string | undefined
}

export type Claimed = {
  readonly jobs: ClaimedJob[]
  /** When nothing was claimed: the next moment at which something may be due, if known. */
  readonly nextDue: Date | null
  readonly now: Date
  /** True: a claim was sent, and its result was lost with the connection. `ownedRuns` lists what it took. */
  readonly unanswered?: boolean | undefined
}

export type Settlement = RunRef &
  (
    | { readonly kind: 'complete' /** JSON text */; readonly result?: string | null | undefined }
    /** Charged. Fails the job permanently when no retries are left: the store decides, in the same statement. */
    | { readonly kind: 'retry'; readonly delayMs: number; readonly error: JobError }
    | { readonly kind: 'fail'; readonly error: JobError }
    /** Retried later, uncharged. */
    | { readonly kind: 'snooze'; readonly delayMs: number }
    /** Released at once, uncharged. `interrupted`: its handler had begun, which the job's events then show. */
    | { readonly kind: 'release'; readonly interrupted?: boolean | undefined }
    | { readonly kind: 'cancel'; readonly error?: JobError | undefined }
    /**
     * Leaves the worker until one of its waits is over. Signals sent before are delivered by the same transaction: if the
     * job waits for one of them, it is due at once. `progressed`: it recorded something, so its attempts start anew.
     * `error`: why the last attempt failed of a step or an undo that it waits to repeat. Then the job is retrying, uncharged.
     * Without it, the error stays while one of `waits` is such a retry.
     */
    | {
        readonly kind: 'suspend'
        readonly waits: readonly SuspendedWait[]
        readonly progressed: boolean
        readonly error?: JobError | undefined
      }
    /** All undos of a job that is being undone have run: it ends as it had to. */
    | { readonly kind: 'undone' }
  )

export type Settled = {
  /** Runs that were taken over or settled before: nothing was written for them. */
  readonly stale: RunRef[]
  /** Runs whose job would have continued and is cancelled instead: it was asked to stop, or replaced. */
  readonly cancelled?: RunRef[] | undefined
  /** Runs whose job has ended badly with registered undos: it is put back, and its next run undoes it. */
  readonly undoing?: RunRef[] | undefined
  /**
   * Entries that the database refused. Their jobs are failed with `error`; without one not even that could be
   * written, and the job is freed when its lease expires.
   */
  readonly refused: (RunRef & { readonly reason: string; readonly error?: JobError | undefined })[]
}

export type HeartbeatRequest = {
  /** Id of the worker, a UUID. */
  readonly worker: string
  /** Milliseconds that the runs own their jobs from now on. */
  readonly leaseMs: number
  /** `started: false` for a prefetched run that only waits. */
  readonly runs: readonly (RunRef & { readonly started?: boolean | undefined })[]
}

export type Beaten = {
  readonly lost: RunRef[]
  /** Runs that were asked to stop. */
  readonly cancelled: RunRef[]
  /** Runs that were not extended because another transaction has locked their rows: send another heartbeat soon. */
  readonly locked?: RunRef[] | undefined
}

export type RunUpdate = RunRef & {
  /** JSON text; the last one is kept. */
  readonly progress?: string | undefined
  /** JSON text: where a later run continues. */
  readonly cursor?: string | undefined
  readonly events?: readonly RunEvent[] | undefined
}

export type Presence = {
  /** False where a crash cannot be seen (transaction pooler): it is noticed when the leases expire. */
  readonly visible: boolean
  /** The worker leaves on purpose: none of its runs is rescued. */
  leave(): Promise<void>
}

export type Rescue = {
  readonly rescued: Rescued[]
  /** A worker is missing, and counts as dead unless it is back by then. */
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
  /** Touch only what matched at this moment: what failed or came later is skipped. Default: now. */
  readonly asOf?: Date | undefined
}

/** Another payload for a job, as it was when the caller saw it: after this run, and last changed then. */
export type PayloadChange = RunRef & {
  readonly updated: Date
  /** JSON text. */
  readonly payload: string
  readonly by?: string | undefined
  /** Which fields differ; kept in the job's events, and no values. */
  readonly paths?: readonly string[] | undefined
}

export type Rerun = {
  readonly id: JobId
  /** Null: from the start. */
  readonly step: string | null
  readonly by?: string | undefined
}

export type JobGlance = Pick<Job, 'topic' | 'status' | 'run' | 'runAt' | 'progress' | 'created' | 'updated'>

export type AnnouncedBy = {
  /** The id of the worker. */
  readonly worker: string
  /** The service that it is part of: schedules in code belong to it. */
  readonly service: string
}

/** A topic whose jobs may be run by a worker that refuses their payload. */
export type TopicClash = {
  readonly topic: string
  /** One for each of the schemas, with the workers that announced it. */
  readonly sides: readonly {
    readonly services: readonly string[]
    readonly workers: readonly { readonly id: string; readonly host: string; readonly pid: number }[]
  }[]
}

export type FailureFilter = FailuresRequest

export type ActivityPoint = Pick<
  WireSeriesPoint,
  'minute' | 'completed' | 'failed' | 'cancelled' | 'retried'
> & { readonly queue: string }

export type SeriesPoint = WireSeriesPoint & { readonly wait: Durations; readonly run: Durations }

export type Durations = Percentiles & {
  /** How many there were, by bucket: those below `DURATION_BUCKETS_MS[n]` and not below the one before. */
  readonly counts: readonly number[]
}

/** The connections of this store to the database, how many of them are idle, and how many callers wait for one. */
export type PoolState = { readonly total: number; readonly idle: number; readonly waiting: number }

export type PruneRule = {
  /** How the jobs ended. */
  readonly status: 'completed' | 'failed' | 'cancelled'
  /** Jobs that finished at this moment or later are kept. */
  readonly finishedBefore: Date
  /** How many at most. Default: 1,000. */
  readonly limit?: number | undefined
}

/** Jobs that another has waited for. */
export type WaitedForPage = {
  readonly jobs: readonly (Pick<Job, 'id' | 'topic' | 'status' | 'result' | 'lastError'> & {
    /** Of a node of a flow. */
    readonly name: string | null
  })[]
  /** Null: these are the last. */
  readonly next: number | null
}
