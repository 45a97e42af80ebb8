import type { JobError, JobId } from '@oncue/core'
import { crashVerdict } from '@oncue/core/internal'
import { idsOf } from '../../portable/enqueue.ts'
import type { EncodedUpdate } from '../../portable/events/event.ts'
import type { Beaten, HeartbeatRequest, Rescued, RunRef, WorkerInfo } from '../../store.ts'
import * as sql from '../sql.ts'
import { Tally } from '../stats.ts'
import type { Ends } from './ends.ts'
import { appendEvent, appendText, runData } from './events.ts'
import type { Limits } from './limits.ts'
import { type CurrentRun, mayGoOn, type Settle } from './settle.ts'
import type { Statements } from './statements.ts'
import { endingOf, hasUndos, isUndoing, type Undo } from './undo.ts'

/**
 * An idle worker sends heartbeats only this often: each is a commit, and wakes every process that watches the
 * file.
 */
const BEAT_MS = 5_000
/** Runs of a dead worker that are remembered one by one. */
const MAX_SHOWN = 100

/** Heartbeats, updates of runs, and the rescue of runs without heartbeats. */
export class Lease {
  readonly #statements: Statements
  readonly #settle: Settle
  readonly #ends: Ends
  readonly #limits: Limits
  readonly #undo: Undo

  constructor(statements: Statements, settle: Settle, ends: Ends, limits: Limits, undo: Undo) {
    this.#statements = statements
    this.#settle = settle
    this.#ends = ends
    this.#limits = limits
    this.#undo = undo
  }

  heartbeat({ worker, leaseMs, runs }: HeartbeatRequest, now: number): Beaten {
    this.beat(worker, now)
    const until = now + leaseMs
    const beaten: { lost: RunRef[]; cancelled: RunRef[] } = { lost: [], cancelled: [] }
    for (const { id, run, started = true } of runs) {
      const values = [until, until, now, started ? 1 : 0, now, id, run, worker]
      const row = this.#statements.get<{ cancel_at: number | null }>(sql.BEAT, ...values)
      if (!row) beaten.lost.push({ id, run })
      else if (row.cancel_at !== null) beaten.cancelled.push({ id, run })
    }
    return beaten
  }

  beat(worker: string, now: number): void {
    this.#statements.run(sql.BEAT_WORKER, now, worker)
  }

  needsBeat(worker: string, now: number): boolean {
    return this.#statements.get(sql.NEEDS_BEAT, worker, now - BEAT_MS) !== undefined
  }

  /** Returns the stale ones. */
  recordProgress(updates: readonly EncodedUpdate[], worker: string | null, now: number): RunRef[] {
    const stale: RunRef[] = []
    for (const { id, run, progress, cursor, events } of updates) {
      const values = [progress, cursor, now, id, run, worker, worker]
      if (!this.#statements.get(sql.NOTE, ...values)) stale.push({ id, run })
      else for (const [type, data, ageMs] of events) appendText(this.#statements, id, type, data, now - ageMs)
    }
    return stale
  }

  lead(what: string, by: string, termMs: number, now: number): boolean {
    return this.#statements.get(sql.LEAD, what, by, now + termMs, now, now + 2 * termMs) !== undefined
  }

  stepDown(what: string, by: string): void {
    this.#statements.run(sql.STEP_DOWN, what, by)
  }

  /** Runs whose worker is dead, or whose lease has expired. A crash charges only runs that had started. */
  crash(runs: readonly RunRef[], now: number): Omit<Rescued, 'worker'> {
    const failed: CurrentRun[] = []
    const back: JobId[] = []
    const tally = new Tally(now)
    for (const { id, run } of runs) {
      const current = this.#settle.current(id, run)
      if (!current) continue
      const wasStarted = current.started_at !== null
      if (!wasStarted && mayGoOn(current)) {
        this.#settle.putBack(id, { visibleAt: now }, now)
        back.push(id)
        continue
      }
      if (wasStarted) appendEvent(this.#statements, id, 'run_crashed', runData(current, now), now)
      const error = crashedOf(current)
      const verdict = crashVerdict(current.crashes + 1, current.max_retries, isUndoing(current))
      if (verdict.action === 'retry' && mayGoOn(current)) {
        this.#settle.putBack(id, { crashed: 1, visibleAt: now + verdict.delayMs, error }, now)
        back.push(id)
        continue
      }
      // It was asked to stop, or replaced: it would not have been retried anyway.
      const status = mayGoOn(current) ? 'failed' : 'cancelled'
      if (hasUndos(current)) {
        this.#undo.begin({ id, status, error: wasStarted ? error : undefined }, now)
        back.push(id)
        continue
      }
      if (this.#settle.finish(current, status, wasStarted ? error : undefined, now, wasStarted ? 1 : 0))
        tally.count(current.queue, current.topic, status, 1)
      failed.push(current)
    }
    this.#statements.write(tally.statements())
    const keyed = failed.filter((run) => run.unique_key !== null)
    this.#ends.afterFinish(idsOf(failed), false, idsOf(keyed), now)
    this.#limits.freeSlots(back, now)
    return { released: back.length, failed: failed.length }
  }

  ownedRuns(worker: string): RunRef[] {
    return this.#statements.all<RunRef>(sql.RUNS_OF, worker)
  }

  attend(worker: WorkerInfo, presence: string, now: number): void {
    const { id, host, pid, queues, concurrency, version } = worker
    const values = [id, host, pid, JSON.stringify(queues), concurrency, version, presence, now, now]
    this.#statements.run(sql.ATTEND, ...values)
  }

  leave(worker: string, now: number): void {
    this.#end(worker, now, 'stopped', { released: 0, failed: 0 }, [])
  }

  /** Leaves without a trace. */
  forget(worker: string): void {
    this.#statements.run(sql.REMOVE_WORKER, worker)
  }

  workers(): { id: string; presence: string }[] {
    return this.#statements.all(sql.WORKERS)
  }

  /** Idempotent: a second call finds no runs. */
  bury(worker: string, now: number): Rescued {
    const runs = this.ownedRuns(worker)
    const report = this.crash(runs, now)
    const ids = JSON.stringify(idsOf(runs.slice(0, MAX_SHOWN)))
    this.#end(worker, now, 'lost', report, this.#statements.all(sql.FREED, ids, ids))
    this.#statements.run(sql.STEP_DOWN_DEAD, worker)
    return { worker, ...report }
  }

  #end(
    worker: string,
    now: number,
    how: 'stopped' | 'lost',
    { released, failed }: Omit<Rescued, 'worker'>,
    runs: readonly object[],
  ): void {
    this.#statements.run(sql.END_WORKER, now, how, released, failed, JSON.stringify(runs), worker)
    this.forget(worker)
  }
}

/** With the error with which a job that was being undone would have ended. */
function crashedOf(run: CurrentRun): JobError {
  const error = { ...CRASHED, fingerprint: `WORKER_CRASHED:${run.topic}` }
  const ending = endingOf(run)?.error
  if (!ending) return error
  const { causes: _, fingerprint: __, ...cause } = ending
  return { ...error, causes: [cause] }
}

const CRASHED = {
  class: 'WorkerCrashed',
  message: 'The worker that ran this job crashed or lost its lease',
  code: 'WORKER_CRASHED',
}
