import type { JobId, NewJob } from '@oncue/core'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { SQLITE } from '../capabilities.ts'
import type { OpenOptions } from '../open.ts'
import type { Acted, ActionBatch, PayloadOutcome, RerunOutcome } from '../portable/actions.ts'
import { type Access, BaseStore } from '../portable/base-store.ts'
import type { FencedAction } from '../portable/bulk-operations.ts'
import { dueQueues, idsOf } from '../portable/enqueue.ts'
import { encodeUpdates } from '../portable/events/event.ts'
import { SqlEventStore } from '../portable/events/store.ts'
import type { DurableStore } from '../portable/outcomes.ts'
import { rollUpSteps } from '../portable/roll-up.ts'
import { createSchedules, type ScheduleStore } from '../portable/schedules.ts'
import { settleBisected } from '../portable/settle-bisected.ts'
import { driveIn } from '../queue/transaction.ts'
import { type Rename, renamed, renameTo, toSchema } from '../schema.ts'
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
  RunRef,
  RunUpdate,
  Settled,
  Settlement,
  Store,
  Subscription,
  WorkerInfo,
} from '../store.ts'
import { assertWorkerId, jobIdsOf } from '../uuid.ts'
import { SqliteWriter, whenFree } from './client.ts'
import { type Database, type Driver, driverFor } from './driver.ts'
import { createDurable } from './durable.ts'
import { enqueueSteps } from './enqueue.ts'
import { toOncueError } from './errors.ts'
import { SqliteListener } from './listener.ts'
import { PresenceFiles } from './presence.ts'
import { run, sqliteConnection, sqliteSql } from './sql-access.ts'
import { PreparedStatements } from './work/statements.ts'
import { SqliteWork } from './work/work.ts'

type SqliteOptions = Pick<OpenOptions, 'schema' | 'synchronous' | 'signal' | 'clock' | 'runtime'> & {
  readonly driver: Driver
  readonly file: string
  /** Called when everything is closed. */
  readonly onClose?: (() => void) | undefined
}

/** 16 MB of pages, as better-sqlite3 has by itself; node:sqlite has 2. */
const CACHE_SIZE = 'PRAGMA cache_size = -16000'

/** Opens both connections, or neither. Once they are open, no other process can have the file to itself. */
function connect({ driver, file, schema, synchronous = 'FULL' }: SqliteOptions): {
  db: Database
  reader: Database
} {
  const opened: Database[] = []
  const Driver = driverFor(driver, toSchema(schema))
  const open = () => {
    const db = new Driver(file, { timeout: 0, fileMustExist: true })
    opened.push(db)
    return db
  }
  try {
    const db = open()
    db.exec('PRAGMA journal_mode = WAL')
    db.exec(`PRAGMA synchronous = ${synchronous}`)
    // A statement that changes many rows keeps the old pages until its end: beyond 64 KB in a temporary file, which each
    // claim would create.
    db.exec('PRAGMA temp_store = MEMORY')
    db.exec(CACHE_SIZE)
    // A connection of its own: a read on the writer's would see uncommitted rows.
    const reader = open()
    reader.exec('PRAGMA query_only = true')
    reader.exec('PRAGMA schema_version')
    reader.exec(CACHE_SIZE)
    reader.exec('PRAGMA busy_timeout = 5000')
    return { db, reader }
  } catch (error) {
    for (const db of opened) db.close()
    throw toOncueError(error)
  }
}

export class SqliteStore extends BaseStore implements Store {
  readonly dialect = 'sqlite'
  readonly rest = null
  readonly capabilities = SQLITE
  readonly events: SqlEventStore
  readonly schedules: ScheduleStore
  readonly durable: DurableStore
  protected readonly access: Access
  readonly #options: SqliteOptions
  readonly #runtime: Runtime
  readonly #rename: Rename
  readonly #db: Database
  readonly #reader: Database
  readonly #writer: SqliteWriter
  readonly #work: SqliteWork
  readonly #presenceFiles: PresenceFiles
  readonly #presences = new Map<string, Presence>()
  readonly #listener: SqliteListener

  /** Waits for a process that holds the whole file, as the last one to close it does for a moment. */
  static open(options: SqliteOptions): Promise<SqliteStore> {
    return whenFree(() => new SqliteStore(options), options.runtime, undefined, options.signal)
  }

  constructor(options: SqliteOptions) {
    super()
    this.#options = options
    const { driver, file, runtime = systemRuntime } = options
    this.#runtime = runtime
    this.#rename = renameTo(this.schema, 'sqlite')
    const { db, reader } = connect(options)
    this.#db = db
    this.#reader = reader
    this.#writer = new SqliteWriter(this.#db, runtime, options.signal)
    this.#work = new SqliteWork(new PreparedStatements(this.#db))
    const sql = sqliteSql(this.#reader, this.#db, this.#writer, () => this.#now())
    this.access = { sql, connection: sqliteConnection(this.#reader, this.#db, this.#writer) }
    this.#presenceFiles = new PresenceFiles(driver, file)
    this.#listener = new SqliteListener(driver, file, undefined, runtime)
    this.events = new SqlEventStore(sql, {
      onNews: (hear) => this.#listener.onChange(() => hear(null)),
      // The listener sees every commit to the file, including our own.
      tell: () => {},
    })
    this.durable = createDurable({
      reader,
      sql,
      writer: this.#writer,
      work: this.#work,
      rename: this.#rename,
      newId: jobIdsOf(runtime),
      now: () => this.#now(),
      wake: (queues) => this.wake(queues),
      assertOpen: () => this.assertOpen(),
    })
    this.schedules = createSchedules(sql, {
      enqueue: (jobs) => this.enqueue(jobs),
      wake: (names) => this.wake(names),
      onWake: (names, wake) => this.onWake(names, wake),
    })
  }

  get url(): string {
    return `file:${this.#options.file}`
  }

  get schema(): string {
    return toSchema(this.#options.schema)
  }

  enqueue(jobs: readonly NewJob[], options?: EnqueueIn): Promise<JobId[]> {
    this.assertOpen()
    if (jobs.length === 0) return Promise.resolve([])
    const enqueuing = options?.tx
      ? driveIn(options.tx, renamed(enqueueSteps(jobs, this.#now()), this.#rename))
      : this.enqueueWithOutcomes(jobs)
    return enqueuing.then(idsOf)
  }

  async enqueueWithOutcomes(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    this.assertOpen()
    if (jobs.length === 0) return []
    const outcomes = await this.#writer.write(() => this.#work.enqueue(jobs, this.#now()))
    this.wake(dueQueues(jobs, this.#now()))
    return outcomes
  }

  async claim(request: ClaimRequest): Promise<Claimed> {
    this.assertOpen()
    assertWorkerId(request.worker)
    return this.#writer.write(() => this.#work.claim(request, this.#now()))
  }

  async settle(settlements: readonly Settlement[], worker?: string): Promise<Settled> {
    this.assertOpen(worker)
    if (settlements.length === 0) return { stale: [], refused: [] }
    return settleBisected(settlements, (batch) =>
      this.#writer.write(() => this.#work.settle(batch, worker ?? null, this.#now())),
    )
  }

  async settleAndClaim(
    settlements: readonly Settlement[],
    request: ClaimRequest,
  ): Promise<Settled & Claimed> {
    this.assertOpen()
    // Two writes of the same turn share one transaction; a refused settle does not undo the claim.
    const settling = this.settle(settlements, request.worker)
    const [settled, claimed] = await Promise.all([settling, this.claim(request)])
    return { ...settled, ...claimed }
  }

  async heartbeat(request: HeartbeatRequest): Promise<Beaten> {
    this.assertOpen()
    assertWorkerId(request.worker)
    return this.#writer.write(() => this.#work.lease.heartbeat(request, this.#now()))
  }

  async recordProgress(updates: readonly RunUpdate[], worker?: string): Promise<{ stale: RunRef[] }> {
    this.assertOpen(worker)
    if (updates.length === 0) return { stale: [] }
    const encoded = encodeUpdates(updates)
    const write = () => this.#work.lease.recordProgress(encoded, worker ?? null, this.#now())
    return { stale: await this.#writer.write(write) }
  }

  async ownedRuns(worker: string): Promise<RunRef[]> {
    this.assertOpen()
    assertWorkerId(worker)
    return this.#work.lease.ownedRuns(worker)
  }

  async attend(worker: WorkerInfo): Promise<Presence> {
    this.assertOpen()
    assertWorkerId(worker.id)
    const lock = this.#presenceFiles.hold(worker.id)
    await this.#writer.write(() => this.#work.lease.attend(worker, worker.id, this.#now()))
    const presence: Presence = {
      visible: true,
      leave: async () => {
        if (!this.#presences.delete(worker.id)) return
        const gone = this.#writer.write(() => this.#work.lease.leave(worker.id, this.#now()))
        // Its end is worth remembering, but must not keep a worker from leaving.
        await gone.catch(() => this.#writer.write(() => this.#work.lease.forget(worker.id)))
        lock.release()
      },
    }
    this.#presences.set(worker.id, presence)
    return presence
  }

  async rescue(worker?: string): Promise<Rescue> {
    this.assertOpen(worker)
    const { lease, limits } = this.#work
    const dead = lease
      .workers()
      .filter(({ id, presence }) => !this.#presences.has(id) && this.#presenceFiles.isDead(presence))
    const rescued = await Promise.all(
      dead.map(({ id }) => this.#writer.write(() => lease.bury(id, this.#now()))),
    )
    if (limits.needTending()) {
      await this.#writer.write(() => {
        const now = this.#now()
        limits.tendSlots(now, (runs) => lease.crash(runs, now))
      })
    }
    if (worker !== undefined && lease.needsBeat(worker, this.#now()))
      await this.#writer.write(() => lease.beat(worker, this.#now()))
    // A free lock means that the process has ended: there is no need to wait.
    return { rescued, lookAgainMs: null }
  }

  async onWake(queues: readonly string[], wake: () => void): Promise<Subscription> {
    this.assertOpen()
    return this.#listener.onWake(queues, wake)
  }

  protected runAction(batch: ActionBatch): Promise<Acted[]> {
    return this.#writer.write(() => this.#act(batch))
  }

  protected runPayloadChange(change: PayloadChange): Promise<PayloadOutcome> {
    return this.#writer.write(() => this.#work.actions.requeueWithPayload(change, this.#now()))
  }

  protected runRerun(rerun: Rerun): Promise<RerunOutcome> {
    return this.#writer.write(() => this.#work.actions.requeueFrom(rerun, this.#now()))
  }

  protected runFenced({ fence, batch, account }: FencedAction): Promise<boolean> {
    return this.#writer.write(() => {
      if (run(this.#db, fence) === 0) return false
      for (const statement of account(batch ? this.#act(batch) : [])) run(this.#db, statement)
      return true
    })
  }

  #act({ action, ids, asOf, by }: ActionBatch): Acted[] {
    const aim = { ids, asOf: asOf?.getTime() ?? null, by }
    return this.#work.actions[action](aim, this.#now())
  }

  async lead(what: string, by: string, termMs: number): Promise<boolean> {
    this.assertOpen()
    return this.#writer.write(() => this.#work.lease.lead(what, by, termMs, this.#now()))
  }

  async stepDown(what: string, by: string): Promise<void> {
    this.assertOpen()
    await this.#writer.write(() => this.#work.lease.stepDown(what, by))
  }

  async rollUp(): Promise<number> {
    this.assertOpen()
    return this.#writer.write(() => driveIn(this.#db, rollUpSteps(this.access.sql)))
  }

  protected pruneOne(rule: PruneRule, queue: string, topic: string, limit: number): Promise<number> {
    const batch = { queue, topic, status: rule.status, before: rule.finishedBefore.getTime(), limit }
    return this.#writer.write(() => this.#work.actions.prune(batch, this.#now()))
  }

  protected wake(queues: readonly string[]): void {
    this.#listener.wake(queues)
  }

  async now(): Promise<Date> {
    this.assertOpen()
    return new Date(this.#now())
  }

  protected async shutDown(): Promise<void> {
    await this.events.close()
    for (const presence of [...this.#presences.values()]) await presence.leave()
    await this.#listener.close()
    await this.#writer.idle()
    this.#reader.close()
    this.#db.close()
    this.#options.onClose?.()
  }

  #now(): number {
    return this.#options.clock?.().getTime() ?? this.#runtime.now()
  }
}
