import { type JobId, type NewJob, OncueError } from '@oncue/core'
import { PrismaPg } from '@prisma/adapter-pg'
import { POSTGRES } from '../capabilities.ts'
import { PrismaClient } from '../generated/postgres/client.ts'
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
import { assertWorkerId, isUuid } from '../uuid.ts'
import { PostgresClient } from './client.ts'
import { decodeWork, type Work } from './decode.ts'
import { toOncueError } from './errors.ts'
import { LowWater, type Marks } from './low-water.ts'
import { attend } from './presence.ts'
import * as sql from './sql.ts'

export type PostgresOptions = {
  readonly url: string
  readonly poolSize?: number | undefined
  /** For tests: replaces the database's clock. */
  readonly clock?: (() => Date) | undefined
  /** How long presence must be gone before a worker counts as dead. */
  readonly goneMs?: number | undefined
  /** How long after a start of the server nobody is declared dead. */
  readonly settleMs?: number | undefined
}

export class PostgresStore implements Store {
  readonly dialect = 'postgres'
  readonly capabilities = POSTGRES
  readonly #options: PostgresOptions
  readonly #client: PostgresClient
  readonly #prisma: PrismaClient
  readonly #reads: Reads
  readonly #lowWater = new LowWater()
  readonly #presences = new Set<Presence>()
  #closed: Promise<void> | undefined

  constructor(options: PostgresOptions) {
    this.#options = options
    this.#client = new PostgresClient(options.url, options.poolSize ?? 10)
    this.#prisma = new PrismaClient({ adapter: new PrismaPg(this.#client.pool) })
    this.#reads = createReads(this.#prisma, toOncueError)
  }

  enqueue(jobs: readonly NewJob[], options?: EnqueueIn): Promise<JobId[]> {
    this.#assertOpen()
    const ids = jobs.map((job) => job.id)
    const queries: sql.Query[] = []
    for (let i = 0; i < jobs.length; i += sql.ENQUEUE_CHUNK) {
      queries.push(sql.enqueue(jobs.slice(i, i + sql.ENQUEUE_CHUNK), this.#now()))
    }
    if (options?.tx) return executeIn(options.tx, queries).then(() => ids)
    return this.#insert(queries, ids)
  }

  async #insert(queries: sql.Query[], ids: JobId[]): Promise<JobId[]> {
    const [first, ...rest] = queries
    const insert = () =>
      !first || rest.length > 0 ? this.#client.transaction(queries) : this.#client.queryOnce(first)
    try {
      await insert()
    } catch (error) {
      if (toOncueError(error).code !== 'DATABASE_UNAVAILABLE') throw error
      // The connection broke and the answer with it: all of them were written, or none.
      const written = await this.#client.query(sql.known(ids))
      if (written.length === 0) await insert()
      else if (written.length < ids.length)
        throw new OncueError('DUPLICATE_ID', 'Some of these jobs exist already')
    }
    return ids
  }

  async claim(request: ClaimRequest): Promise<Claimed> {
    this.#assertOpen()
    assertWorkerId(request.worker)
    return this.#claiming(request, (marks) => sql.claim(request, marks, this.#now()))
  }

  async settle(settlements: readonly Settlement[]): Promise<Settled> {
    this.#assertOpen()
    if (settlements.length === 0) return { stale: [], refused: [] }
    return settleBisected(settlements, async (batch) => {
      const rows = await this.#client.query(sql.settle(batch, this.#now()))
      return decodeWork(rows).stale
    })
  }

  async settleAndClaim(
    settlements: readonly Settlement[],
    request: ClaimRequest,
  ): Promise<Settled & Claimed> {
    this.#assertOpen()
    assertWorkerId(request.worker)
    if (settlements.length === 0) return { stale: [], refused: [], ...(await this.claim(request)) }
    try {
      const work = await this.#claiming(request, (marks) =>
        sql.settleAndClaim(settlements, request, marks, this.#now()),
      )
      return { ...work, refused: [] }
    } catch (error) {
      const { code, retryable } = toOncueError(error)
      if (code !== 'DATABASE_REFUSED' && !retryable) throw error
      // Settling is worth more attempts than claiming: it may be sent again, a claim may not.
      return { ...(await this.settle(settlements)), jobs: [], nextDue: null, now: await this.now() }
    }
  }

  async #claiming(
    request: ClaimRequest,
    query: (marks: Marks) => sql.Query,
  ): Promise<Claimed & { stale: RunRef[] }> {
    const marks = this.#lowWater.marks(request, this.#elapsedMs())
    const work: Work = decodeWork(await this.#client.queryOnce(query(marks)))
    this.#lowWater.learn(request, work.jobs, work.now, this.#elapsedMs())
    return work
  }

  /** Under a test's clock no time passes during a sweep, so every claim is one. */
  #elapsedMs(): number {
    return this.#now()?.getTime() ?? performance.now()
  }

  async heartbeat(request: HeartbeatRequest): Promise<{ lost: RunRef[] }> {
    this.#assertOpen()
    assertWorkerId(request.worker)
    const rows = await this.#client.query(sql.heartbeat(request, this.#now()))
    return { lost: rows.map(toRunRef) }
  }

  async held(worker: string): Promise<RunRef[]> {
    this.#assertOpen()
    assertWorkerId(worker)
    return (await this.#client.query(sql.held(worker))).map(toRunRef)
  }

  async attend(worker: WorkerInfo): Promise<Presence> {
    this.#assertOpen()
    assertWorkerId(worker.id)
    const presence = await attend(
      {
        connectionString: this.#options.url,
        worker,
        pool: this.#client.pool,
        row: (key) => sql.attend(worker, key, this.#now()),
      },
      async () => {
        await this.#client.query(sql.leave(worker.id))
      },
    ).catch((error) => {
      throw toOncueError(error)
    })
    this.#presences.add(presence)
    return presence
  }

  async rescue(): Promise<Rescued[]> {
    this.#assertOpen()
    const { goneMs = 1_000, settleMs = 5_000 } = this.#options
    const rows = await this.#client.query(sql.rescue(goneMs, settleMs, this.#now()))
    return rows.map(([worker, released, failed]) => ({ worker, released, failed }) as Rescued)
  }

  async requeue(ids: readonly JobId[]): Promise<ActionReport> {
    this.#assertOpen()
    const rows = await this.#client.queryOnce(sql.requeue(ids.filter(isUuid), this.#now()))
    const done = new Set(rows.map(([id]) => id))
    return { done: done.size, skipped: await this.#reads.whyNotRequeued(ids.filter((id) => !done.has(id))) }
  }

  async get(id: JobId) {
    this.#assertOpen()
    return isUuid(id) ? this.#reads.get(id) : null
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
    const rows = await this.#client.query({
      text: 'select coalesce($1::timestamptz, oncue.clock())',
      values: [this.#now()],
    })
    return rows[0]?.[0] as Date
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      for (const presence of this.#presences) await presence.leave().catch(() => {})
      await this.#prisma.$disconnect()
      await this.#client.close()
    })()
    return this.#closed
  }

  #now(): Date | null {
    return this.#options.clock?.() ?? null
  }

  #assertOpen(): void {
    if (this.#closed) throw new OncueError('STORE_CLOSED', 'This store was closed')
  }
}

function toRunRef([id, run]: unknown[]): RunRef {
  return { id, run } as RunRef
}
