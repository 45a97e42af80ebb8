import type { JobError, JobId } from '@oncue/core'
import { NOT_NEEDED } from '../../portable/enqueue.ts'
import * as sql from '../sql.ts'
import { Tally } from '../stats.ts'
import type { Children } from './children.ts'
import { appendEvent } from './events.ts'
import type { Limits } from './limits.ts'
import { PARENT_FAILED } from './parents.ts'
import type { Statements } from './statements.ts'
import { type EndingColumn, hasUndos, type Undo } from './undo.ts'

type Ending = {
  readonly ids: readonly JobId[]
  readonly status: 'failed' | 'cancelled'
  readonly error: JobError | null
}

/** The consequences of jobs that end: dependants are released or ended, slots and keys are freed. */
export class Ends {
  readonly #statements: Statements
  readonly #limits: Limits
  readonly #children: Children
  readonly #undo: Undo

  constructor(statements: Statements, limits: Limits, children: Children, undo: Undo) {
    this.#statements = statements
    this.#limits = limits
    this.#children = children
    this.#undo = undo
  }

  /** Runs that ended their job; `keyed` are those of them with a unique key. */
  afterFinish(ids: readonly JobId[], completed: boolean, keyed: readonly JobId[], now: number): void {
    if (ids.length === 0) return
    this.#endAll(this.#tell(ids, completed, now), now)
    this.#limits.freeSlots(ids, now)
    this.#freeKeys(keyed)
  }

  /** Ends jobs that wait, and the dependants that must not run without them. One with undos is undone first. */
  endWaiting(ids: readonly JobId[], status: 'failed' | 'cancelled', now: number): void {
    this.#endAll([{ ids, status, error: null }], now)
  }

  /** By a list and not by recursion: a chain may be longer than a stack is deep. */
  #endAll(endings: Ending[], now: number): void {
    for (const ending of endings) {
      const ended = this.#end(ending, now)
      if (ended.length > 0) endings.push(...this.#tell(ended, false, now))
    }
  }

  /** Returns the dependants and children that end with it. */
  #tell(parents: readonly JobId[], completed: boolean, now: number): Ending[] {
    this.#children.ended(parents, now)
    const orphans = completed ? [] : this.#cancelOrphans(parents, now)
    return [...orphans, ...this.#tellDependants(parents, completed, now)]
  }

  /** The children of jobs that were cancelled: running ones are asked to stop. */
  #cancelOrphans(parents: readonly JobId[], now: number): Ending[] {
    const orphans = this.#children.orphansOf(parents)
    const idsOf = (isRunning: boolean) =>
      orphans.filter(({ status }) => (status === 'processing') === isRunning).map(({ id }) => id)
    const [waiting, running] = [idsOf(false), idsOf(true)]
    for (const id of waiting) appendEvent(this.#statements, id, 'cancelled', ORPHANED, now)
    for (const id of running) appendEvent(this.#statements, id, 'cancel_requested', ORPHANED, now)
    if (running.length > 0) this.#statements.run(sql.ASK_TO_STOP, now, now, JSON.stringify(running))
    return waiting.length > 0 ? [{ ids: waiting, status: 'cancelled', error: null }] : []
  }

  #tellDependants(parents: readonly JobId[], completed: boolean, now: number): Ending[] {
    if (!this.#statements.get(sql.ANY_DEPS)) return []
    const ids = JSON.stringify(parents)
    const done = completed ? 1 : 0
    const fallbacks = this.#statements.get(sql.ANY_FLOWS)
      ? this.#statements.all<Fallback>(sql.FALLBACKS, ids)
      : []
    this.#statements.run(sql.RELEASE, now, now, ids, done)
    this.#statements.run(sql.DROP_MET, ids, done)
    const notNeeded = this.#decideBatches(fallbacks, now)
    if (completed) return notNeeded
    const rows = this.#statements.all<{ job_id: JobId; policy: string }>(sql.ENDED_BY_PARENTS, ids)
    const by = (policy: string) => rows.filter((row) => row.policy === policy).map((row) => row.job_id)
    const endings: Ending[] = [
      ...notNeeded,
      { ids: by('stop'), status: 'failed', error: PARENT_FAILED },
      { ids: by('cancel'), status: 'cancelled', error: null },
    ]
    return endings.filter((ending) => ending.ids.length > 0)
  }

  /** decide_batches of Postgres. */
  #decideBatches(fallbacks: readonly Fallback[], now: number): Ending[] {
    const notNeeded: JobId[] = []
    for (const [id, flow] of new Map(fallbacks.map(({ id, flow }) => [id, flow]))) {
      // It still waits, or has ended.
      if (!this.#statements.get(sql.IS_PENDING, id)) continue
      const left = this.#statements.run(sql.AWAIT_BATCH, id, flow)
      if (left > 0) this.#statements.run(sql.BLOCK_AGAIN, left, id)
      else if (!this.#statements.get(sql.ANY_NOT_COMPLETED, flow)) notNeeded.push(id)
    }
    for (const id of notNeeded) appendEvent(this.#statements, id, 'cancelled', NOT_NEEDED, now)
    return notNeeded.length > 0 ? [{ ids: notNeeded, status: 'cancelled', error: null }] : []
  }

  /** Returns those that existed and were ended. */
  #end({ ids, status, error }: Ending, now: number): JobId[] {
    type Waiting = EndingColumn & { readonly id: JobId; readonly queue: string; readonly topic: string }
    const found = this.#statements.all<Waiting>(sql.WAITING_JOBS, JSON.stringify(ids))
    for (const { id } of found.filter(hasUndos)) this.#undo.begin({ id, status, error }, now)
    const jobs = found.filter(({ ending }) => ending === null)
    if (jobs.length === 0) return []
    const tally = new Tally(now)
    const text = error && JSON.stringify(error)
    for (const { id, queue, topic } of jobs) {
      const kept = this.#statements.run(sql.END_WAITING, now, status, text, error?.fingerprint ?? null, id)
      tally.count(queue, topic, status, kept)
      this.#statements.run(sql.REMOVE, id)
    }
    this.#statements.write(tally.statements())
    const ended = jobs.map((job) => job.id)
    this.#statements.run(sql.GIVE_KEYS_BACK, JSON.stringify(ended))
    this.#statements.run(sql.DROP_EDGES_OF, JSON.stringify(ended))
    for (const id of ended) this.#children.forgetWaits(id)
    this.#freeKeys(ended)
    return ended
  }

  #freeKeys(ids: readonly JobId[]): void {
    if (ids.length > 0) this.#statements.run(sql.DROP_KEYS_OF, JSON.stringify(ids))
  }
}

/** A job that runs when a batch fails. */
type Fallback = { readonly id: JobId; readonly flow: string }

const ORPHANED = { by: null, reason: 'its parent was cancelled' }
