import type { JobId, NewJob } from '@oncue/core'
import { type PausableRuntime, pausable, type Runtime, systemRuntime } from '@oncue/runtime'
import { type Capabilities, POSTGRES } from '../capabilities.ts'
import type { OpenOptions } from '../open.ts'
import type { Acted, ActionBatch, PayloadOutcome, RerunOutcome } from '../portable/actions.ts'
import { type Access, BaseStore } from '../portable/base-store.ts'
import type { FencedAction } from '../portable/bulk-operations.ts'
import { dueQueues, idsOf, wakeNames } from '../portable/enqueue.ts'
import { encodeUpdates } from '../portable/events/event.ts'
import { SqlEventStore } from '../portable/events/store.ts'
import type { DurableStore } from '../portable/outcomes.ts'
import { rollUpSteps } from '../portable/roll-up.ts'
import { createSchedules, type ScheduleStore } from '../portable/schedules.ts'
import { isPermanent, settleBisected } from '../portable/settle-bisected.ts'
import { toPostgres } from '../portable/sql.ts'
import { toSchema } from '../schema.ts'
import type {
  Beaten,
  Claimed,
  ClaimRequest,
  EnqueueIn,
  EnqueueOutcome,
  HeartbeatRequest,
  PayloadChange,
  Presence,
  PruneRule,
  Rerun,
  Rescue,
  Rescued,
  RestStore,
  RunRef,
  RunUpdate,
  Settled,
  Settlement,
  Store,
  Subscription,
  WorkerInfo,
} from '../store.ts'
import { assertWorkerId, jobIdsOf } from '../uuid.ts'
import { PostgresClient } from './client.ts'
import { decodeWork } from './decode.ts'
import { createDurable } from './durable.ts'
import { canAnnounce, enqueueAlone, enqueueIn } from './enqueue.ts'
import { toOncueError } from './errors.ts'
import { PostgresListener } from './listener.ts'
import { LowWater, type Marks } from './low-water.ts'
import { LoneEnqueues, PostgresNotifier } from './notifier.ts'
import { attend, type PostgresPresence } from './presence.ts'
import { hasSessions } from './session.ts'
import * as sql from './sql.ts'
import { postgresConnection, postgresSql } from './sql-access.ts'
import { deliver as deliverSignals } from './sql-durable.ts'

export type PostgresOptions = Pick<OpenOptions, 'schema' | 'poolSize' | 'signal' | 'clock' | 'runtime'> & {
  readonly url: string
}

/**
 * How long presence must be gone before a worker counts as dead. A worker that polls once a second notices
 * it missing within one, and frees its runs before two have passed.
 */
const GONE_MS = 800
/**
 * The same when most workers are missing at once. Longer than a live one takes to find out that its
 * connection is dead (a ping, and its timeout) and to open another.
 */
const MOST_GONE_MS = 20_000
/**
 * How long after a start of the server, or after this process has itself lost a connection, no worker is
 * declared dead: all of them have to reconnect first.
 */
const SETTLE_MS = 5_000
/** How often a worker or an API records that it uses the functions of its build. */
const SEEN_EVERY_MS = 3_600_000
/** Ends the rest of all workers; no queue can have this name. */
const AWAKE = ':awake'

export class PostgresStore extends BaseStore implements Store {
  readonly dialect = 'postgres'
  readonly events: SqlEventStore
  readonly schedules: ScheduleStore
  readonly durable: DurableStore
  protected readonly access: Access
  readonly #options: PostgresOptions
  readonly #runtime: Runtime
  /** Of what this store sends by itself. */
  readonly #ownRuntime: PausableRuntime
  readonly #client: PostgresClient
  readonly #listener: PostgresListener
  readonly #notifiers: { readonly queues: PostgresNotifier; readonly events: PostgresNotifier }
  readonly #loneEnqueues: LoneEnqueues
  readonly #lowWater = new LowWater()
  readonly #presences = new Set<PostgresPresence>()
  /** The workers that may rest, by their `onAnyWake`, and those that do. */
  readonly #restful = new Set<symbol>()
  readonly #resting = new Set<string>()
  #capabilities: Capabilities = POSTGRES
  /** By performance.now(). */
  #seenAt = Number.NEGATIVE_INFINITY
  #heardSignals = false
  #delivering: Promise<void> | undefined

  /** Detects first whether there is a pooler in between. */
  static async open(options: PostgresOptions): Promise<PostgresStore> {
    const store = new PostgresStore(options)
    try {
      const sessions = await hasSessions(options.url, store.#client.pool, store.#client.Client)
      if (!sessions) await store.#client.rows(sql.requireReadCommitted())
      store.#capabilities = { ...POSTGRES, sessions }
      return store
    } catch (error) {
      await store.close()
      throw toOncueError(error)
    }
  }

  get url(): string {
    return this.#options.url
  }

  get schema(): string {
    return toSchema(this.#options.schema)
  }

  get capabilities(): Capabilities {
    return this.#capabilities
  }

  get rest(): RestStore | null {
    return this.#capabilities.sessions ? this.#rest : null
  }

  readonly #rest: RestStore = {
    onAnyWake: async (hear) => {
      const wakes = await this.#listener.subscribe('oncue', hear)
      const signals = await this.#listener.subscribe('oncue.signals', hear)
      const counted = Symbol()
      this.#restful.add(counted)
      this.#pauseOrResume()
      const close = async () => {
        this.#restful.delete(counted)
        this.#pauseOrResume()
      }
      return together(together(wakes, signals), { close })
    },
    isPossible: async () => {
      let isBusy = true
      const hears = await this.#listener.hearsItself(async (name) => {
        isBusy = (await this.#client.query(sql.probe(name)))[0]?.[0] === true
      })
      return hears && !isBusy
    },
    pause: (worker) => {
      this.#resting.add(worker)
      this.#pauseOrResume()
    },
    resume: async (worker) => {
      this.#resting.delete(worker)
      this.#pauseOrResume()
      await Promise.all([...this.#presences].map((presence) => presence.restore()))
    },
    announceSilence: async (worker, ms) => {
      assertWorkerId(worker)
      await this.#client.query(sql.silent(worker, ms, this.#now()))
    },
    rouse: () => this.wake([AWAKE]),
  }

  #pauseOrResume(): void {
    if (this.#resting.size > 0 && this.#resting.size >= this.#restful.size) this.#ownRuntime.pause()
    else this.#ownRuntime.resume()
  }

  constructor(options: PostgresOptions) {
    super()
    this.#options = options
    const runtime = options.runtime ?? systemRuntime
    this.#runtime = runtime
    this.#ownRuntime = pausable(runtime)
    const client = new PostgresClient(options.url, options.poolSize, runtime, this.schema, options.signal)
    this.#client = client
    const access = postgresSql(
      client,
      () => this.now(),
      () => this.#now(),
    )
    this.access = { sql: access, connection: postgresConnection(client) }
    this.#listener = new PostgresListener({
      connectionString: options.url,
      pool: client.pool,
      Client: client.Client,
      schema: this.schema,
      runtime: this.#ownRuntime,
    })
    // In a failover all connections stay with a server that is no longer the primary.
    client.onReadOnly = () => {
      this.#listener.check()
      for (const presence of this.#presences) presence.check()
    }
    const send = (query: sql.Query) => client.query(query)
    this.#notifiers = {
      queues: new PostgresNotifier('oncue', send, false, runtime),
      events: new PostgresNotifier('oncue.events', send, true, runtime),
    }
    this.#loneEnqueues = new LoneEnqueues(runtime)
    this.events = new SqlEventStore(access, {
      onNews: (hear) => this.#listener.subscribe('oncue.events', hear),
      tell: (jobId) => this.#notifiers.events.notify([jobId]),
    })
    this.durable = createDurable({
      client,
      sql: access,
      runtime,
      newId: jobIdsOf(runtime),
      now: () => this.#now(),
      assertOpen: () => this.assertOpen(),
    })
    this.schedules = createSchedules(access, {
      enqueue: (jobs) => this.enqueue(jobs),
      wake: (names) => this.wake(names),
      onWake: (names, wake) => this.onWake(names, wake),
    })
  }

  enqueue(jobs: readonly NewJob[], options?: EnqueueIn): Promise<JobId[]> {
    this.assertOpen()
    if (jobs.length === 0) return Promise.resolve([])
    const enqueuing = options?.tx
      ? enqueueIn(options.tx, jobs, this.#now(), this.#runtime, this.#client.rename)
      : this.enqueueWithOutcomes(jobs)
    return enqueuing.then(idsOf)
  }

  async enqueueWithOutcomes(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    this.assertOpen()
    if (jobs.length === 0) return []
    return this.#loneEnqueues.run(async (isLone) => {
      const announced = isLone && canAnnounce(jobs) && dueQueues(jobs, this.#runtime.now()).length > 0
      const outcomes = await enqueueAlone(this.#client, jobs, this.#now(), announced)
      if (!announced) this.wake(wakeNames(jobs, this.#runtime.now()))
      return outcomes
    })
  }

  async claim(request: ClaimRequest): Promise<Claimed> {
    this.assertOpen()
    assertWorkerId(request.worker)
    return this.#claiming(request, (marks) => sql.claim(request, marks, this.#now()))
  }

  async settle(settlements: readonly Settlement[], worker?: string): Promise<Settled> {
    this.assertOpen(worker)
    if (settlements.length === 0) return { stale: [], refused: [] }
    return settleBisected(settlements, async (batch) => {
      const rows = await this.#client.query(sql.settle(batch, this.#now(), worker))
      const { stale, cancelled, undoing } = decodeWork(rows)
      return { stale, cancelled, undoing }
    })
  }

  async settleAndClaim(
    settlements: readonly Settlement[],
    request: ClaimRequest,
  ): Promise<Settled & Claimed> {
    this.assertOpen()
    assertWorkerId(request.worker)
    if (settlements.length === 0) return { stale: [], refused: [], ...(await this.claim(request)) }
    try {
      const work = await this.#claiming(request, (marks) =>
        sql.settleAndClaim(settlements, request, marks, this.#now()),
      )
      return { ...work, refused: [] }
    } catch (error) {
      const { code, retryable } = toOncueError(error)
      if (!isPermanent(error) && !retryable) throw error
      // Settling gets more attempts than claiming, because it may be sent again and a claim may not.
      const settled = await this.settle(settlements, request.worker)
      const unanswered = code === 'DATABASE_UNAVAILABLE'
      return { ...settled, jobs: [], nextDue: null, now: await this.now(), unanswered }
    }
  }

  async #claiming(
    request: ClaimRequest,
    query: (marks: Marks) => sql.Query,
  ): Promise<Claimed & Omit<Settled, 'refused'>> {
    const marks = this.#lowWater.marks(request, this.#elapsedMs())
    const { unseen, ...work } = decodeWork(await this.#client.queryOnce(query(marks)))
    this.#lowWater.learn(request, work.jobs, work.now, this.#elapsedMs(), unseen)
    return work
  }

  /** A test's clock stands still during a sweep, so every claim is a sweep. */
  #elapsedMs(): number {
    return this.#now()?.getTime() ?? this.#runtime.monotonic()
  }

  async heartbeat(request: HeartbeatRequest): Promise<Beaten> {
    this.assertOpen()
    assertWorkerId(request.worker)
    const rows = await this.#client.query(sql.heartbeat(request, this.#now()))
    const of = (kind: string) =>
      rows.filter((row) => row[0] === kind).map(([, id, run]) => ({ id, run }) as RunRef)
    const locked = of('locked')
    return { lost: of('lost'), cancelled: of('cancel'), ...(locked.length > 0 && { locked }) }
  }

  async recordProgress(updates: readonly RunUpdate[], worker?: string): Promise<{ stale: RunRef[] }> {
    this.assertOpen(worker)
    if (updates.length === 0) return { stale: [] }
    const rows = await this.#client.queryOnce(sql.recordProgress(encodeUpdates(updates), this.#now(), worker))
    return { stale: rows.map(([id, run]) => ({ id, run }) as RunRef) }
  }

  async ownedRuns(worker: string): Promise<RunRef[]> {
    this.assertOpen()
    assertWorkerId(worker)
    return (await this.#client.query(sql.ownedRuns(worker))).map(([id, run]) => ({ id, run }) as RunRef)
  }

  async attend(worker: WorkerInfo): Promise<Presence> {
    this.assertOpen()
    assertWorkerId(worker.id)
    this.#markSeen()
    const presence = await attend(
      {
        connectionString: this.#options.url,
        worker,
        pool: this.#client.pool,
        Client: this.#client.Client,
        runtime: this.#ownRuntime,
        onLost: () => this.#client.lost(),
        row: (key) => {
          const { text, values } = sql.attend(worker, key, this.#now())
          return { text: this.#client.rename(text), values }
        },
      },
      async () => {
        const gone = this.#client.query(sql.leave(worker.id, this.#now()))
        // Its end is worth remembering, but must not keep a worker from leaving.
        await gone.catch(() => this.#client.query(sql.forgetWorker(worker.id)))
      },
    ).catch((error) => {
      throw toOncueError(error)
    })
    this.#presences.add(presence)
    return presence
  }

  async rescue(worker?: string): Promise<Rescue> {
    this.assertOpen(worker)
    this.#markSeen()
    const rows = await this.#client.query(() => sql.rescue(this.#patience(), worker ?? null, this.#now()))
    const [, , , lookAgainMs, isUntended] = rows.pop() ?? []
    const rescued = rows.map(([dead, released, failed]) => ({ worker: dead, released, failed }) as Rescued)
    if (isUntended) {
      await this.#client.query(sql.tend(this.#now())).catch((error) => {
        // The rescue is committed, and has to be reported. The next poll meets the same error.
        if (rescued.length === 0) throw error
      })
    }
    return { rescued, lookAgainMs: (lookAgainMs ?? null) as number | null }
  }

  /** A transaction that sent signals has committed. Several that are heard meanwhile are delivered together. */
  #deliver(): void {
    this.#heardSignals = true
    this.#delivering ??= this.#deliverHeard()
  }

  async #deliverHeard(): Promise<void> {
    while (this.#heardSignals) {
      this.#heardSignals = false
      // The next poll delivers what this one could not.
      await this.#client.query(deliverSignals(null, this.#now())).catch(() => {})
    }
    this.#delivering = undefined
  }

  #patience(): sql.Patience {
    const sinceLoss = this.#runtime.monotonic() - this.#client.lostAt
    const grace = Math.ceil(Math.max(0, SETTLE_MS - sinceLoss))
    return { gone: GONE_MS, most: MOST_GONE_MS, settle: SETTLE_MS, grace }
  }

  async onWake(queues: readonly string[], wake: () => void): Promise<Subscription> {
    this.assertOpen()
    const wakes = await this.#listener.onWake(queues, wake)
    const signals = await this.#listener.subscribe('oncue.signals', () => this.#deliver())
    return together(wakes, signals)
  }

  protected async runAction(batch: ActionBatch): Promise<Acted[]> {
    return toActed(await this.#client.queryOnce(sql.act(batch, this.#now())))
  }

  protected async runPayloadChange(change: PayloadChange): Promise<PayloadOutcome> {
    const [row] = await this.#client.queryOnce(sql.requeueWithPayload(change, this.#now()))
    return row?.[0] as PayloadOutcome
  }

  protected async runRerun(rerun: Rerun): Promise<RerunOutcome> {
    const [row] = await this.#client.queryOnce(sql.requeueFrom(rerun, this.#now()))
    return row?.[0] as RerunOutcome
  }

  protected runFenced({ fence, batch, account }: FencedAction): Promise<boolean> {
    return this.#client.inTransaction(async (send) => {
      if ((await send(toPostgres(fence))).rowCount === 0) return false
      const acted = batch ? toActed((await send(sql.act(batch, this.#now()))).rows) : []
      for (const statement of account(acted)) await send(toPostgres(statement))
      return true
    })
  }

  async lead(what: string, by: string, termMs: number): Promise<boolean> {
    this.assertOpen()
    this.#markSeen()
    return (await this.#client.query(sql.lead(what, by, termMs, this.#now()))).length > 0
  }

  /** Called by operations that only workers and APIs use: enqueues need no set of functions. */
  #markSeen(): void {
    const now = this.#runtime.monotonic()
    if (now - this.#seenAt < SEEN_EVERY_MS) return
    this.#seenAt = now
    // A role that may not write this keeps working. Its functions can then be removed while they are in use.
    this.#client.query(sql.markFunctionsSeen()).catch(() => {})
  }

  async stepDown(what: string, by: string): Promise<void> {
    this.assertOpen()
    await this.#client.query(sql.stepDown(what, by))
  }

  async rollUp(): Promise<number> {
    this.assertOpen()
    // When there is nothing to roll up, this is the only statement.
    const deltas = await this.#client.query({ text: 'select from oncue.stat_deltas limit 1', values: [] })
    return deltas.length === 0 ? 0 : this.#client.drive(() => rollUpSteps(this.access.sql))
  }

  protected async pruneOne(rule: PruneRule, queue: string, topic: string, limit: number): Promise<number> {
    const query = sql.prune(queue, topic, rule.status, rule.finishedBefore, limit, this.#now())
    return (await this.#client.query(query))[0]?.[0] as number
  }

  protected wake(queues: readonly string[]): void {
    this.#notifiers.queues.notify(queues)
  }

  async now(): Promise<Date> {
    this.assertOpen()
    const rows = await this.#client.query(sql.now(this.#now()))
    return rows[0]?.[0] as Date
  }

  protected async shutDown(): Promise<void> {
    await this.events.close()
    await this.#delivering
    for (const presence of this.#presences) await presence.leave().catch(() => {})
    // Closing takes at most as long as its timers allow.
    this.#ownRuntime.resume()
    await Promise.all([
      this.#notifiers.queues.close(),
      this.#notifiers.events.close(),
      this.#listener.close(),
    ])
    await this.#client.close()
  }

  #now(): Date | null {
    return this.#options.clock?.() ?? null
  }
}

function together(...subscriptions: readonly Subscription[]): Subscription {
  return {
    close: async () => {
      await Promise.all(subscriptions.map((subscription) => subscription.close()))
    },
  }
}

function toActed(rows: readonly unknown[][]): Acted[] {
  return rows.map(([reason, count, busy]) => ({ reason, count, ids: busy }) as Acted)
}
