import { type JobId, type NewJob, OncueError } from '@oncue/core'
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import type { Database } from 'better-sqlite3'
import { type Acted, act } from '../actions.ts'
import { type Admin, createAdmin } from '../admin.ts'
import { SQLITE } from '../capabilities.ts'
import { dueQueues } from '../due-queues.ts'
import { SqlEventStore } from '../events/store.ts'
import { PrismaClient } from '../generated/sqlite/client.ts'

import { createReads, type Reads } from '../reads.ts'
import { createSchedules } from '../schedules/store.ts'
import type { ScheduleStore } from '../schedules.ts'
import { settleBisected } from '../settle-bisected.ts'
import type { Sql } from '../sql.ts'
import { prune } from '../stats/prune.ts'
import { rollUpSqlite } from '../stats/sqlite.ts'
import type {
  ActionOptions,
  ActionReport,
  Beaten,
  Claimed,
  ClaimRequest,
  EnqueueIn,
  HeartbeatRequest,
  Presence,
  PruneRule,
  Rescued,
  RunRef,
  Settled,
  Settlement,
  Store,
  Subscription,
  Target,
  WorkerInfo,
} from '../store.ts'
import { driveIn } from '../transaction.ts'
import { assertWorkerId, isUuid } from '../uuid.ts'
import { SqliteWriter } from './client.ts'
import type { Driver } from './driver.ts'
import { enqueueSteps } from './enqueue/steps.ts'
import { toOncueError } from './errors.ts'
import { SqliteListener } from './listener.ts'
import { PresenceFiles } from './presence.ts'
import { sqliteSql } from './sql-access.ts'
import { SqliteWork } from './work.ts'

export type SqliteOptions = {
  readonly driver: Driver
  readonly file: string
  /**
   * `FULL` (default): what was acknowledged survives a loss of power. `NORMAL`: survives a crash of
   * the process, but the last commits before a loss of power may be gone (the file stays whole).
   */
  readonly synchronous?: 'FULL' | 'NORMAL' | undefined
  /** For tests: replaces the host's clock. */
  readonly clock?: (() => Date) | undefined
  /** Called when everything is closed. */
  readonly onClose?: (() => void) | undefined
}

export class SqliteStore implements Store {
  readonly dialect = 'sqlite'
  readonly capabilities = SQLITE
  readonly events: SqlEventStore
  readonly schedules: ScheduleStore
  readonly #options: SqliteOptions
  readonly #db: Database
  readonly #reader: Database
  readonly #writer: SqliteWriter
  readonly #work: SqliteWork
  readonly #presenceFiles: PresenceFiles
  readonly #presences = new Map<string, Presence>()
  readonly #prisma: PrismaClient
  readonly #sql: Sql
  readonly #reads: Reads
  readonly #admin: Admin
  readonly #listener: SqliteListener
  #closed: Promise<void> | undefined

  constructor(options: SqliteOptions) {
    this.#options = options
    const { driver, file, synchronous = 'FULL' } = options
    this.#db = new driver(file, { timeout: 0, fileMustExist: true })
    this.#db.pragma('journal_mode = WAL')
    this.#db.pragma(`synchronous = ${synchronous}`)
    this.#writer = new SqliteWriter(this.#db)
    this.#work = new SqliteWork(this.#db)
    // Connections of their own: a read on the writer's would see what is not committed yet.
    this.#reader = new driver(file, { fileMustExist: true })
    this.#reader.pragma('query_only = true')
    const adapter = new PrismaBetterSqlite3({ url: `file:${file}` }, { timestampFormat: 'unixepoch-ms' })
    this.#prisma = new PrismaClient({ adapter })
    this.#sql = sqliteSql(this.#reader, this.#db, this.#writer, () => this.#now())
    // The two clients are generated from the same models, so one set of reads serves both.
    this.#reads = createReads({ sql: this.#sql, prisma: this.#prisma as never, toError: toOncueError })
    this.#admin = createAdmin(this.#sql)
    this.#presenceFiles = new PresenceFiles(driver, file)
    this.#listener = new SqliteListener(driver, file)
    this.events = new SqlEventStore(this.#sql, {
      onNews: (hear) => this.#listener.onChange(() => hear(null)),
      // The listener sees every commit to the file, our own too.
      tell: () => {},
    })
    this.schedules = createSchedules(this.#sql, (jobs) => this.enqueue(jobs))
  }

  enqueue(jobs: readonly NewJob[], options?: EnqueueIn): Promise<JobId[]> {
    this.#assertOpen()
    if (jobs.length === 0) return Promise.resolve([])
    if (options?.tx) return driveIn(options.tx, enqueueSteps(jobs, this.#now()))
    return this.#writer
      .write(() => this.#work.enqueue(jobs, this.#now()))
      .then((ids) => {
        this.#listener.wake(dueQueues(jobs, this.#now()))
        return ids
      })
  }

  async claim(request: ClaimRequest): Promise<Claimed> {
    this.#assertOpen()
    assertWorkerId(request.worker)
    return this.#writer.write(() => this.#work.claim(request, this.#now()))
  }

  async settle(settlements: readonly Settlement[]): Promise<Settled> {
    this.#assertOpen()
    if (settlements.length === 0) return { stale: [], refused: [] }
    return settleBisected(settlements, (batch) =>
      this.#writer.write(() => this.#work.settle(batch, this.#now())),
    )
  }

  async settleAndClaim(
    settlements: readonly Settlement[],
    request: ClaimRequest,
  ): Promise<Settled & Claimed> {
    this.#assertOpen()
    // Two writes of the same turn share one transaction; a poisoned settle does not undo the claim.
    const [settled, claimed] = await Promise.all([this.settle(settlements), this.claim(request)])
    return { ...settled, ...claimed }
  }

  async heartbeat(request: HeartbeatRequest): Promise<Beaten> {
    this.#assertOpen()
    assertWorkerId(request.worker)
    return this.#writer.write(() => this.#work.lease.heartbeat(request, this.#now()))
  }

  async held(worker: string): Promise<RunRef[]> {
    this.#assertOpen()
    assertWorkerId(worker)
    return this.#work.lease.held(worker)
  }

  async attend(worker: WorkerInfo): Promise<Presence> {
    this.#assertOpen()
    assertWorkerId(worker.id)
    const lock = this.#presenceFiles.hold(worker.id)
    await this.#writer.write(() => this.#work.lease.attend(worker, worker.id, this.#now()))
    const presence: Presence = {
      visible: true,
      leave: async () => {
        if (!this.#presences.delete(worker.id)) return
        await this.#writer.write(() => this.#work.lease.leave(worker.id))
        lock.release()
      },
    }
    this.#presences.set(worker.id, presence)
    return presence
  }

  async rescue(): Promise<Rescued[]> {
    this.#assertOpen()
    const { lease, limits } = this.#work
    const dead = lease
      .workers()
      .filter(({ id, presence }) => !this.#presences.has(id) && this.#presenceFiles.isDead(presence))
    const rescued = await Promise.all(
      dead.map(({ id }) => this.#writer.write(() => lease.bury(id, this.#now()))),
    )
    if (limits.needTending()) await this.#writer.write(() => limits.tend(this.#now()))
    return rescued
  }

  async onWake(queues: readonly string[], wake: () => void): Promise<Subscription> {
    this.#assertOpen()
    return this.#listener.onWake(queues, wake)
  }

  requeue(target: Target, options: ActionOptions = {}): Promise<ActionReport> {
    return this.#act('requeue', target, options)
  }

  cancel(target: Target, options: ActionOptions = {}): Promise<ActionReport> {
    return this.#act('cancel', target, options)
  }

  delete(target: Target, options: ActionOptions = {}): Promise<ActionReport> {
    return this.#act('delete', target, options)
  }

  async #act(
    action: 'requeue' | 'cancel' | 'delete',
    target: Target,
    options: ActionOptions,
  ): Promise<ActionReport> {
    this.#assertOpen()
    return act(target, options, {
      now: () => this.now(),
      match: this.#reads.matchingIds,
      run: async (ids, asOf, by) => {
        const aim = { ids, asOf: asOf?.getTime() ?? null, by }
        return toActed(await this.#writer.write(() => this.#work.actions[action](aim, this.#now())))
      },
    })
  }

  async pause(queue: string, by?: string) {
    this.#assertOpen()
    return this.#admin.pause(queue, by)
  }

  async resume(queue: string, by?: string) {
    this.#assertOpen()
    await this.#admin.resume(queue, by)
    this.#listener.wake([queue])
  }

  async configureQueue(...args: Parameters<Admin['configureQueue']>) {
    this.#assertOpen()
    return this.#admin.configureQueue(...args)
  }

  async limit(...args: Parameters<Admin['limit']>) {
    this.#assertOpen()
    return this.#admin.limit(...args)
  }

  async announce(...args: Parameters<Admin['announce']>) {
    this.#assertOpen()
    return this.#admin.announce(...args)
  }

  async get(id: JobId) {
    this.#assertOpen()
    return isUuid(id) ? this.#reads.get(id) : null
  }

  async list(...args: Parameters<Reads['list']>) {
    this.#assertOpen()
    return this.#reads.list(...args)
  }

  async stats(...args: Parameters<Reads['stats']>) {
    this.#assertOpen()
    return this.#reads.stats(...args)
  }

  async failures(...args: Parameters<Reads['failures']>) {
    this.#assertOpen()
    return this.#reads.failures(...args)
  }

  async queues() {
    this.#assertOpen()
    return this.#reads.queues()
  }

  async workers() {
    this.#assertOpen()
    return this.#reads.workers()
  }

  async topics() {
    this.#assertOpen()
    return this.#reads.topics()
  }

  async series(...args: Parameters<Reads['series']>) {
    this.#assertOpen()
    return this.#reads.series(...args)
  }

  async rollUp(): Promise<number> {
    this.#assertOpen()
    return this.#writer.write(() => rollUpSqlite(this.#db))
  }

  async prune(rule: PruneRule): Promise<number> {
    this.#assertOpen()
    const before = rule.finishedBefore.getTime()
    return prune(this.#sql, rule, (queue, topic, limit) => {
      const batch = { queue, topic, status: rule.status, before, limit }
      return this.#writer.write(() => this.#work.actions.prune(batch, this.#now()))
    })
  }

  async now(): Promise<Date> {
    this.#assertOpen()
    return new Date(this.#now())
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      await this.events.close()
      for (const presence of [...this.#presences.values()]) await presence.leave()
      await this.#listener.close()
      await this.#writer.idle()
      await this.#prisma.$disconnect()
      this.#reader.close()
      this.#db.close()
      this.#options.onClose?.()
    })()
    return this.#closed
  }

  #now(): number {
    return this.#options.clock?.().getTime() ?? Date.now()
  }

  #assertOpen(): void {
    if (this.#closed) throw new OncueError('STORE_CLOSED', 'This store was closed')
  }
}

function toActed({ done, skipped }: ActionReport): Acted[] {
  const reasons = Object.entries({ done, ...skipped })
  return reasons.map(([reason, count]) => ({ reason, count, ids: null }))
}
