import { crashVerdict, type JobError, type JobId, type NewJob } from '@oncue/core'
import type { Database, Statement } from 'better-sqlite3'
import { isInline } from '../inline.ts'
import type {
  Claimed,
  ClaimedJob,
  ClaimRequest,
  HeartbeatRequest,
  Rescued,
  RunRef,
  Settlement,
  WorkerInfo,
} from '../store.ts'
import { claimedJob, type ReadyRow } from './decode.ts'
import * as sql from './sql.ts'

type CrashedRun = {
  readonly id: JobId
  readonly run: number
  readonly started_at: number | null
  readonly crashes: number
  readonly max_retries: number
  readonly topic: string
}

const ABOVE_ALL_PRIORITIES = 32_768

/**
 * The hot path on SQLite: what the functions of prisma/postgres/migrations/0002_kernel_functions do
 * there. Everything is synchronous and runs inside one `BEGIN IMMEDIATE`, so there is one writer
 * and no need for locks, marks or snapshots.
 */
export class SqliteWork {
  readonly #db: Database
  readonly #prepared = new Map<string, Statement<unknown[]>>()

  constructor(db: Database) {
    this.#db = db
  }

  enqueue(jobs: readonly NewJob[], now: number): void {
    for (let i = 0; i < jobs.length; i += sql.ENQUEUE_CHUNK) {
      for (const { text, values } of sql.enqueue(jobs.slice(i, i + sql.ENQUEUE_CHUNK), now))
        this.#run(text, values)
    }
  }

  claim(request: ClaimRequest, now: number): Claimed {
    const jobs: ClaimedJob[] = []
    const dues: number[] = []
    const topics = request.topics ? JSON.stringify(request.topics) : null
    for (const queue of request.queues) {
      let priority = this.#nextPriority(queue, ABOVE_ALL_PRIORITIES)
      while (priority !== undefined && jobs.length < request.limit) {
        const look = { queue, priority, now, limit: request.limit - jobs.length }
        const ready = topics
          ? this.#arrays<ReadyRow>(sql.READY_OF_TOPICS, { ...look, topics })
          : this.#arrays<ReadyRow>(sql.READY, look)
        const expired: JobId[] = []
        const claim = this.#prepare(sql.CLAIM)
        for (const row of ready) {
          const [id, status] = row
          if (status === 'processing') {
            expired.push(id)
            continue
          }
          const startedAt = jobs.length < (request.start ?? request.limit) ? now : null
          claim.run(now + request.leaseMs, request.worker, now, startedAt, id)
          jobs.push(claimedJob(row, queue, priority))
        }
        for (const id of expired) this.#crash(this.#all<CrashedRun>(sql.RUN_OF_JOB, id), now)
        // A first crash is claimable at once: look at this priority once more.
        if (expired.length > 0) continue
        dues.push(...this.#column(sql.NEXT_DUE, queue, priority, now))
        priority = this.#nextPriority(queue, priority)
      }
    }
    const nextDue = jobs.length === 0 && dues.length > 0 ? new Date(Math.min(...dues)) : null
    return { jobs, nextDue, now: new Date(now) }
  }

  #nextPriority(queue: string, below: number): number | undefined {
    return this.#column(sql.NEXT_PRIORITY, queue, below)[0]
  }

  /** Answers the stale ones. */
  settle(settlements: readonly Settlement[], now: number): RunRef[] {
    return settlements
      .filter((settlement) => !this.#settleOne(settlement, now))
      .map(({ id, run }) => ({ id, run }))
  }

  #settleOne(settlement: Settlement, now: number): boolean {
    switch (settlement.kind) {
      case 'complete':
        return this.#complete(settlement, settlement.result ?? null, now)
      case 'retry':
        return this.#column(sql.HAS_RETRIES, settlement.id, settlement.run)[0] === 0
          ? this.#finish(settlement, 'failed', now, { error: settlement.error })
          : this.#putBack(settlement, now, {
              charged: 1,
              runAt: now + settlement.delayMs,
              error: settlement.error,
            })
      case 'fail':
        return this.#finish(settlement, 'failed', now, { error: settlement.error })
      case 'cancel':
        return this.#finish(settlement, 'cancelled', now, { error: settlement.error })
      case 'snooze':
        return this.#putBack(settlement, now, { runAt: now + settlement.delayMs })
      case 'release':
        return this.#putBack(settlement, now, {})
    }
  }

  #complete(run: RunRef, result: string | null, now: number): boolean {
    const inline = result === null || isInline(result)
    if (!this.#finish(run, 'completed', now, { result: inline ? result : null })) {
      // A settle that is sent again finds its own work done: not stale.
      return this.#column(sql.IS_COMPLETED, run.id, run.run).length > 0
    }
    if (!inline) this.#run(sql.KEEP_RESULT, [run.id, result])
    return true
  }

  #finish(
    { id, run }: RunRef,
    status: 'completed' | 'failed' | 'cancelled',
    now: number,
    {
      result = null,
      error,
      crashed = 0,
    }: { result?: string | null; error?: JobError | undefined; crashed?: number },
  ): boolean {
    const columns = errorColumns(error)
    this.#run(sql.FINISH, [crashed, now, now, status, result, columns.error, columns.fingerprint, id, run])
    return this.#run(sql.REMOVE, [id, run]) > 0
  }

  #putBack(
    { id, run }: RunRef,
    now: number,
    back: { charged?: number; crashed?: number; runAt?: number; visibleAt?: number; error?: JobError },
  ): boolean {
    const { charged = 0, crashed = 0, runAt = null, visibleAt = runAt ?? now, error } = back
    return (
      this.#run(sql.PUT_BACK, [
        { id, run, now, charged, crashed, runAt, visibleAt, ...errorColumns(error) },
      ]) > 0
    )
  }

  heartbeat({ worker, leaseMs, runs }: HeartbeatRequest, now: number): RunRef[] {
    this.#run(sql.BEAT_WORKER, [now, worker])
    const lost = runs.filter(({ id, run, started = true }) => {
      return this.#run(sql.BEAT, [{ id, run, until: now + leaseMs, now, started: started ? 1 : 0 }]) === 0
    })
    return lost.map(({ id, run }) => ({ id, run }))
  }

  /** Runs whose worker is dead, or whose lease is over. A crash charges only runs that had started. */
  #crash(runs: readonly CrashedRun[], now: number): Omit<Rescued, 'worker'> {
    let failed = 0
    for (const run of runs) {
      const error = { ...CRASHED, fingerprint: `WORKER_CRASHED:${run.topic}` }
      const verdict = crashVerdict(run.crashes + 1, run.max_retries)
      if (run.started_at === null) this.#putBack(run, now, {})
      else if (verdict.action === 'retry')
        this.#putBack(run, now, { crashed: 1, visibleAt: now + verdict.delayMs, error })
      else {
        this.#finish(run, 'failed', now, { crashed: 1, error })
        failed += 1
      }
    }
    return { released: runs.length - failed, failed }
  }

  held(worker: string): RunRef[] {
    return this.#all<CrashedRun>(sql.RUNS_OF, worker).map(({ id, run }) => ({ id, run }))
  }

  attend(worker: WorkerInfo, presence: string, now: number): void {
    const { id, host, pid, concurrency, version } = worker
    this.#run(sql.ATTEND, [
      id,
      host,
      pid,
      JSON.stringify(worker.queues),
      concurrency,
      version,
      presence,
      now,
      now,
    ])
  }

  leave(workerId: string): void {
    this.#run(sql.LEAVE, [workerId])
  }

  workers(): { id: string; presence: string }[] {
    return this.#all(sql.WORKERS)
  }

  bury(worker: string, now: number): Rescued {
    const report = this.#crash(this.#all<CrashedRun>(sql.RUNS_OF, worker), now)
    this.leave(worker)
    return { worker, ...report }
  }

  /** Answers those that were finished, and are pending now. */
  requeue(ids: readonly JobId[], now: number): JobId[] {
    return ids.filter((id) => {
      if (this.#run(sql.REQUEUE, [{ id, now }]) === 0) return false
      this.#run(sql.FORGET, [id])
      this.#run(sql.FORGET_RESULT, [id])
      return true
    })
  }

  #run(text: string, values: unknown[]): number {
    return this.#prepare(text).run(values.length === 1 ? values[0] : values).changes
  }

  #all<Row>(text: string, ...values: unknown[]): Row[] {
    return this.#prepare(text).all(...values) as Row[]
  }

  #arrays<Row>(text: string, values: object): Row[] {
    return this.#prepare(text).raw().all(values) as Row[]
  }

  #column(text: string, ...values: unknown[]): number[] {
    return this.#prepare(text)
      .pluck()
      .all(...values) as number[]
  }

  #prepare(text: string): Statement<unknown[]> {
    let statement = this.#prepared.get(text)
    if (!statement) {
      statement = this.#db.prepare(text)
      // Inserts of odd sizes come and go; the few texts of the hot path stay.
      if (this.#prepared.size > 100) this.#prepared.clear()
      this.#prepared.set(text, statement)
    }
    return statement
  }
}

const CRASHED = {
  class: 'WorkerCrashed',
  message: 'The worker that ran this job died, or lost its lease',
  code: 'WORKER_CRASHED',
}

function errorColumns(error: JobError | undefined) {
  return { error: error ? JSON.stringify(error) : null, fingerprint: error?.fingerprint ?? null }
}
