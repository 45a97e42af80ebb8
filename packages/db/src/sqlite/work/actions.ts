import type { JobId } from '@oncue/core'
import type { Acted, PayloadOutcome, RerunOutcome } from '../../portable/actions.ts'
import { isInline, storedUniqueKey } from '../../portable/enqueue.ts'
import type { PayloadChange, Rerun } from '../../store.ts'
import * as sql from '../sql.ts'
import { FORGET_FAMILY } from '../sql-children.ts'
import { FORGET_CHILDREN, FORGET_SINCE, FORGET_UNANSWERED, SEQ_OF } from '../sql-durable.ts'
import { Tally } from '../stats.ts'
import type { Children } from './children.ts'
import type { Ends } from './ends.ts'
import { appendEvent } from './events.ts'
import type { Statements } from './statements.ts'
import { type EndingColumn, isUndoing, type Undo } from './undo.ts'

type FinishedRow = {
  readonly id: JobId
  readonly run: number
  readonly queue: string
  readonly topic: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly unique_key: string | null
  readonly unique_scope: string | null
  readonly finished_at: number
}

type LiveRow = {
  readonly id: JobId
  readonly run: number
  readonly status: 'blocked' | 'pending' | 'processing'
  readonly created: number
  readonly updated: number
  readonly run_at: number
  readonly visible_at: number | null
  readonly fingerprint: string | null
  /** Whether its last run suspended it: 1 or 0. */
  readonly is_suspended: number
} & EndingColumn

/** The jobs of an action: as of a moment, if one is given. */
type Aim = { readonly ids: readonly JobId[]; readonly asOf: number | null; readonly by: string | null }

/** Actions of people on jobs, by id: requeue, run_now, cancel, delete and prune of Postgres. */
export class Actions {
  readonly #statements: Statements
  readonly #ends: Ends
  readonly #children: Children
  readonly #undo: Undo

  constructor(statements: Statements, ends: Ends, children: Children, undo: Undo) {
    this.#statements = statements
    this.#ends = ends
    this.#children = children
    this.#undo = undo
  }

  /** Puts finished jobs back: attempts are reset, the run number continues. With them goes the family that failed. */
  requeue({ ids, asOf, by }: Aim, now: number): Acted[] {
    const found = this.#find(ids)
    const kept = this.#children.ofLiveParents(found.ids)
    const report = new Report()
    const tally = new Tally(now)
    const back: JobId[] = []
    // Sorted by id, so that of two jobs with one key the same one always gets it.
    for (const id of [...found.ids].sort()) {
      const job = found.finished.get(id)
      if (found.live.has(id)) report.skip('INVALID_STATE')
      else if (!job) report.skip('JOB_NOT_FOUND')
      else if (asOf !== null && job.finished_at > asOf) report.skip('CHANGED')
      else if (job.status === 'completed' && kept.has(id)) report.skip('PARENT_LIVE')
      else if (!this.#takeKeyAgain(job, now)) report.skip('UNIQUE_KEY_LIVE')
      else {
        this.#statements.run(sql.REQUEUE, now, now, now, id)
        tally.count(job.queue, job.topic, job.status, -1)
        appendEvent(this.#statements, id, 'requeued', { by }, now)
        back.push(id)
      }
    }
    this.#statements.run(sql.FORGET_FINISHED, JSON.stringify(back))
    this.#statements.run(sql.FORGET_RESULTS, JSON.stringify(back))
    this.#undo.forget(back, now)
    this.#statements.write(tally.statements())
    this.#awaitRequeued(back)
    const family = this.#children.requeued(back)
    if (family.length > 0) this.requeue({ ids: family, asOf: null, by }, now)
    return report.done(back)
  }

  /** await_requeued of Postgres. */
  #awaitRequeued(ids: readonly JobId[]): void {
    if (!this.#statements.get(sql.ANY_FLOWS)) return
    const waiting = this.#statements.all<{ job_id: JobId }>(sql.AWAIT_REQUEUED, JSON.stringify(ids))
    for (const { job_id } of waiting) this.#statements.run(sql.ADD_DEP, job_id)
  }

  /** One job, with another payload, if it is as the caller saw it. */
  requeueWithPayload({ id, run, updated, payload, ...change }: PayloadChange, now: number): PayloadOutcome {
    const { by = null, paths = [] } = change
    const found = this.#find([id])
    const live = found.live.get(id)
    const finished = found.finished.get(id)
    const job = live ?? finished
    if (!job) return 'JOB_NOT_FOUND'
    const changedAt = live ? live.updated : finished?.finished_at
    if (job.run !== run || changedAt !== updated.getTime()) return 'CHANGED'
    if (!live) {
      const [done, skipped] = this.requeue({ ids: [id], asOf: null, by }, now)
      if (done?.count !== 1) return skipped?.reason === 'PARENT_LIVE' ? 'PARENT_LIVE' : 'UNIQUE_KEY_LIVE'
    } else if (
      live.status !== 'pending' ||
      live.visible_at === null ||
      live.fingerprint === null ||
      live.is_suspended ||
      isUndoing(live)
    ) {
      return 'INVALID_STATE'
    } else {
      this.#statements.run(sql.RETRY_ANEW, now, now, now, id)
      this.#undo.forget([id], now)
      appendEvent(this.#statements, id, 'requeued', { by }, now)
    }
    const isSmall = isInline(payload)
    this.#statements.run(sql.SET_PAYLOAD, isSmall ? payload : null, id)
    this.#statements.run(sql.DROP_PAYLOAD, id)
    if (!isSmall) this.#statements.run(sql.INSERT_PAYLOAD, id, payload)
    appendEvent(this.#statements, id, 'payload_changed', { by, paths }, now)
    return 'done'
  }

  /** One finished job, which forgets what was recorded from a step on; without one, everything. */
  requeueFrom({ id, step, ...rerun }: Rerun, now: number): RerunOutcome {
    const { by = null } = rerun
    const found = this.#find([id])
    const job = found.finished.get(id)
    if (found.live.has(id)) return 'INVALID_STATE'
    if (!job) return 'JOB_NOT_FOUND'
    const from =
      step === null ? { seq: 0 } : this.#statements.get<{ seq: number }>(SEQ_OF, id, `step:${step}`)
    if (!from) return 'STEP_NOT_FOUND'
    if (job.status === 'completed' && this.#children.ofLiveParents([id]).has(id)) return 'PARENT_LIVE'
    if (!this.#takeKeyAgain(job, now)) return 'UNIQUE_KEY_LIVE'
    // What was undone goes too, as with every requeue: it must not be kept without the record of its undo.
    this.#undo.forget([id], now)
    // Before, so that children that it forgets are not requeued with it.
    this.#statements.run(FORGET_CHILDREN, id, id, from.seq)
    this.#statements.run(FORGET_SINCE, id, from.seq)
    this.#statements.run(FORGET_UNANSWERED, id)
    this.requeue({ ids: [id], asOf: null, by }, now)
    if (step === null) this.#statements.run(sql.BEGIN_ANEW, id)
    appendEvent(this.#statements, id, 'steps_forgotten', { by, from: step }, now)
    return 'done'
  }

  /** Makes pending jobs that are to run later due at once. Only their time changes. */
  run_now({ ids, asOf, by }: Aim, now: number): Acted[] {
    const found = this.#find(ids)
    const report = new Report()
    const due: JobId[] = []
    for (const id of found.ids) {
      const job = found.live.get(id)
      if (!job) report.skip(found.finished.has(id) ? 'FINISHED' : 'JOB_NOT_FOUND')
      else if (job.status === 'processing') report.skip('RUNNING')
      else if (job.is_suspended && (job.status === 'blocked' || job.run_at > now)) report.skip('SUSPENDED')
      else if (job.status === 'blocked') report.skip('BLOCKED')
      else if (job.visible_at === null) report.skip('THROTTLED')
      else if (job.run_at <= now) report.skip('ALREADY_DUE')
      else if (asOf !== null && job.created > asOf) report.skip('CHANGED')
      else due.push(id)
    }
    this.#statements.run(sql.MAKE_DUE, now, now, now, JSON.stringify(due))
    for (const id of due) appendEvent(this.#statements, id, 'run_now', { by }, now)
    return report.done(due)
  }

  /** Ends waiting jobs, and asks running ones to stop. */
  cancel({ ids, asOf, by }: Aim, now: number): Acted[] {
    const found = this.#find(ids)
    const requeued = this.#requeuedSince(found.ids, asOf)
    const report = new Report()
    const waiting: JobId[] = []
    const running: JobId[] = []
    for (const id of found.ids) {
      const job = found.live.get(id)
      if (!job) report.skip(found.finished.has(id) ? 'INVALID_STATE' : 'JOB_NOT_FOUND')
      else if (asOf !== null && (job.created > asOf || requeued.has(id))) report.skip('CHANGED')
      else if (isUndoing(job)) report.skip('UNDOING')
      else if (job.status === 'processing') running.push(id)
      else waiting.push(id)
    }
    for (const id of waiting) appendEvent(this.#statements, id, 'cancelled', { by }, now)
    if (waiting.length > 0) this.#ends.endWaiting(waiting, 'cancelled', now)
    for (const id of running) appendEvent(this.#statements, id, 'cancel_requested', { by }, now)
    if (running.length > 0) this.#statements.run(sql.ASK_TO_STOP, now, now, JSON.stringify(running))
    return report.done([...waiting, ...running])
  }

  /** Removes pending or failed jobs that no other job waits for, with everything that belongs to them. */
  delete({ ids, asOf }: Aim, now: number): Acted[] {
    const found = this.#find(ids)
    const waitedFor = this.#waitedFor(found.ids)
    const requeued = this.#requeuedSince(found.ids, asOf)
    const report = new Report()
    const tally = new Tally(now)
    const gone: JobId[] = []
    for (const id of found.ids) {
      const live = found.live.get(id)
      const finished = found.finished.get(id)
      const at = live?.created ?? finished?.finished_at
      if (at === undefined) report.skip('JOB_NOT_FOUND')
      else if (waitedFor.has(id)) report.skip('HAS_DEPENDANTS')
      else if (
        live
          ? live.status !== 'pending' || live.is_suspended || live.ending !== null
          : finished?.status !== 'failed'
      )
        report.skip('INVALID_STATE')
      else if (asOf !== null && (at > asOf || requeued.has(id))) report.skip('CHANGED')
      else {
        if (live) this.#removeLive(id)
        else if (finished) tally.count(finished.queue, finished.topic, finished.status, -1)
        gone.push(id)
      }
    }
    this.#forget(gone)
    this.#statements.write(tally.statements())
    return report.done(gone)
  }

  /**
   * Removes up to `limit` finished jobs of one queue and topic, the oldest first. Keeps jobs that others wait
   * for.
   */
  prune({ queue, topic, status, before, limit }: PruneBatch, now: number): number {
    const text = status === 'completed' ? sql.PRUNABLE_COMPLETED : sql.PRUNABLE_UNSUCCESSFUL
    const rows = this.#statements.all<{ id: JobId }>(text, topic, queue, status, before, before, limit)
    if (rows.length === 0) return 0
    this.#forget(rows.map((row) => row.id))
    const tally = new Tally(now)
    tally.count(queue, topic, status, -rows.length)
    this.#statements.write(tally.statements())
    return rows.length
  }

  #find(wanted: readonly JobId[]) {
    const ids = new Set(wanted)
    const json = JSON.stringify([...ids])
    const live = this.#statements.all<LiveRow>(sql.LIVE, json)
    const finished = this.#statements.all<FinishedRow>(sql.FINISHED, json)
    return {
      ids,
      live: new Map(live.map((row) => [row.id, row])),
      finished: new Map(finished.map((row) => [row.id, row])),
    }
  }

  #takeKeyAgain({ id, topic, unique_key, unique_scope }: FinishedRow, now: number): boolean {
    if (unique_key === null) return true
    const name = storedUniqueKey(topic, unique_key, unique_scope)
    return this.#statements.run(sql.TAKE_KEY_AGAIN, name.topic, name.key, id, now) > 0
  }

  /** By dependants, by a live job that has spawned it, or by one of its batch or flow. */
  #waitedFor(ids: ReadonlySet<JobId>): Set<JobId> {
    const json = JSON.stringify([...ids])
    const rows = [sql.WAITED_FOR, sql.AWAITED].flatMap((text) =>
      this.#statements.all<{ id: JobId }>(text, json),
    )
    return new Set([...rows.map((row) => row.id), ...this.#children.ofLiveParents(ids)])
  }

  /** An action as of a moment is not about jobs that were requeued after it. */
  #requeuedSince(ids: ReadonlySet<JobId>, asOf: number | null): Set<JobId> {
    if (asOf === null) return new Set()
    const rows = this.#statements.all<{ id: JobId }>(sql.REQUEUED_SINCE, JSON.stringify([...ids]), asOf, asOf)
    return new Set(rows.map((row) => row.id))
  }

  #removeLive(id: JobId): void {
    this.#statements.run(sql.FORGET_META, JSON.stringify([id]))
    this.#statements.run(sql.REMOVE, id)
  }

  #forget(ids: readonly JobId[]): void {
    if (ids.length === 0) return
    const json = JSON.stringify(ids)
    this.#statements.run(sql.FORGET_META_OF_ENDED, json)
    this.#statements.run(sql.FORGET_FINISHED, json)
    for (const text of [...sql.FORGET_PARTS, ...FORGET_FAMILY]) this.#statements.run(text, json)
  }
}

type PruneBatch = Pick<FinishedRow, 'queue' | 'topic' | 'status'> & {
  readonly before: number
  readonly limit: number
}

class Report {
  readonly #skipped: Record<string, number> = {}

  skip(reason: string): void {
    this.#skipped[reason] = (this.#skipped[reason] ?? 0) + 1
  }

  done(ids: readonly JobId[]): Acted[] {
    const skipped = Object.entries(this.#skipped).map(([reason, count]) => ({ reason, count, ids: null }))
    return [{ reason: 'done', count: ids.length, ids }, ...skipped]
  }
}
