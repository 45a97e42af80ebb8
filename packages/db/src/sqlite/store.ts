import { type JobId, type NewJob, OncueError } from '@oncue/core'
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import type { Database } from 'better-sqlite3'
import { SQLITE } from '../capabilities.ts'
import { PrismaClient } from '../generated/sqlite/client.ts'
import { createReads, type Reads } from '../reads.ts'
import { settleBisected } from '../settle-bisected.ts'
import type {
  ActionReport,
  Claimed,
  ClaimRequest,
  EnqueueIn,
  HeartbeatRequest,
  ListFilter,
  Presence,
  Rescued,
  RunRef,
  Settled,
  Settlement,
  Store,
  WorkerInfo,
} from '../store.ts'
import { executeIn } from '../transaction.ts'
import { assertWorkerId } from '../uuid.ts'
import { SqliteWriter } from './client.ts'
import type { Driver } from './driver.ts'
import { toOncueError } from './errors.ts'
import { PresenceFiles } from './presence.ts'
import * as sql from './sql.ts'
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
  readonly #options: SqliteOptions
  readonly #db: Database
  readonly #writer: SqliteWriter
  readonly #work: SqliteWork
  readonly #presenceFiles: PresenceFiles
  readonly #presences = new Map<string, Presence>()
  readonly #prisma: PrismaClient
  readonly #reads: Reads
  #closed: Promise<void> | undefined

  constructor(options: SqliteOptions) {
    this.#options = options
    this.#db = new options.driver(options.file, { timeout: 0, fileMustExist: true })
    this.#db.pragma('journal_mode = WAL')
    this.#db.pragma(`synchronous = ${options.synchronous ?? 'FULL'}`)
    this.#writer = new SqliteWriter(this.#db)
    this.#work = new SqliteWork(this.#db)
    this.#presenceFiles = new PresenceFiles(options.driver, options.file)
    // A connection of its own: a statement on the writer's would join whatever transaction is open there.
    const adapter = new PrismaBetterSqlite3(
      { url: `file:${options.file}` },
      { timestampFormat: 'unixepoch-ms' },
    )
    this.#prisma = new PrismaClient({ adapter })
    // The two clients are generated from the same models, so one set of reads serves both.
    this.#reads = createReads(this.#prisma as never, toOncueError)
  }

  enqueue(jobs: readonly NewJob[], options?: EnqueueIn): Promise<JobId[]> {
    this.#assertOpen()
    const ids = jobs.map((job) => job.id)
    const now = this.#now()
    if (!options?.tx) return this.#writer.write(() => this.#work.enqueue(jobs, now)).then(() => ids)
    const statements = []
    for (let i = 0; i < jobs.length; i += sql.ENQUEUE_CHUNK) {
      statements.push(...sql.enqueue(jobs.slice(i, i + sql.ENQUEUE_CHUNK), now))
    }
    return executeIn(options.tx, statements).then(() => ids)
  }

  async claim(request: ClaimRequest): Promise<Claimed> {
    this.#assertOpen()
    assertWorkerId(request.worker)
    return this.#writer.write(() => this.#work.claim(request, this.#now()))
  }

  async settle(settlements: readonly Settlement[]): Promise<Settled> {
    this.#assertOpen()
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

  async heartbeat(request: HeartbeatRequest): Promise<{ lost: RunRef[] }> {
    this.#assertOpen()
    assertWorkerId(request.worker)
    return { lost: await this.#writer.write(() => this.#work.heartbeat(request, this.#now())) }
  }

  async held(worker: string): Promise<RunRef[]> {
    this.#assertOpen()
    assertWorkerId(worker)
    return this.#work.held(worker)
  }

  async attend(worker: WorkerInfo): Promise<Presence> {
    this.#assertOpen()
    assertWorkerId(worker.id)
    const lock = this.#presenceFiles.hold(worker.id)
    await this.#writer.write(() => this.#work.attend(worker, worker.id, this.#now()))
    const presence: Presence = {
      visible: true,
      leave: async () => {
        if (!this.#presences.delete(worker.id)) return
        await this.#writer.write(() => this.#work.leave(worker.id))
        lock.release()
      },
    }
    this.#presences.set(worker.id, presence)
    return presence
  }

  async rescue(): Promise<Rescued[]> {
    this.#assertOpen()
    const dead = this.#work
      .workers()
      .filter(({ id, presence }) => !this.#presences.has(id) && this.#presenceFiles.isDead(presence))
    // Burying twice does no harm: the second finds no runs.
    return Promise.all(dead.map(({ id }) => this.#writer.write(() => this.#work.bury(id, this.#now()))))
  }

  async requeue(ids: readonly JobId[]): Promise<ActionReport> {
    this.#assertOpen()
    const done = new Set(await this.#writer.write(() => this.#work.requeue(ids, this.#now())))
    return { done: done.size, skipped: await this.#reads.whyNotRequeued(ids.filter((id) => !done.has(id))) }
  }

  async get(id: JobId) {
    this.#assertOpen()
    return this.#reads.get(id)
  }

  async list(filter: ListFilter = {}) {
    this.#assertOpen()
    return this.#reads.list(filter)
  }

  async stats() {
    this.#assertOpen()
    return this.#reads.stats()
  }

  async now(): Promise<Date> {
    this.#assertOpen()
    return new Date(this.#now())
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      for (const presence of [...this.#presences.values()]) await presence.leave()
      await this.#writer.idle()
      await this.#prisma.$disconnect()
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
