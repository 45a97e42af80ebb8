import type { JobError, JobId } from '@oncue/core'
import { retriesOfUndoing } from '@oncue/core/internal'
import type { StoredEnding } from '../../store.ts'
import * as sql from '../sql-durable.ts'
import type { Children } from './children.ts'
import { appendEvent } from './events.ts'
import type { Statements } from './statements.ts'

/** The column `ending` of a job. */
export type EndingColumn = { readonly ending: string | null }

export type BadEnd = {
  readonly id: JobId
  readonly status: 'failed' | 'cancelled'
  readonly error: JobError | null | undefined
}

/** It has ended before, and its undos run or are to run. */
export function isUndoing(job: EndingColumn): boolean {
  return endingOf(job)?.status !== undefined
}

/** It has registered undos, and has not ended. */
export function hasUndos(job: EndingColumn): boolean {
  return job.ending !== null && !isUndoing(job)
}

export function endingOf({ ending }: EndingColumn): StoredEnding | null {
  return ending === null ? null : JSON.parse(ending)
}

/** While a job is undone it has some even if its work must not be repeated. */
export function retriesOf(job: EndingColumn & { readonly max_retries: number }): number {
  return isUndoing(job) ? retriesOfUndoing(job.max_retries) : job.max_retries
}

/** Jobs that end badly and have something to undo: begin_undo of Postgres. */
export class Undo {
  readonly #statements: Statements
  readonly #children: Children

  constructor(statements: Statements, children: Children) {
    this.#statements = statements
    this.#children = children
  }

  /** Puts the job back, to be undone, with how it must end. */
  begin({ id, status, error }: BadEnd, now: number): void {
    type Failure = { readonly last_error: string | null; readonly fingerprint: string | null }
    const last = this.#statements.get<Failure>(sql.FAILURE_OF, id)
    const failure = error ?? (last?.last_error ? JSON.parse(last.last_error) : undefined)
    const fingerprint = error?.fingerprint ?? last?.fingerprint ?? undefined
    const ending: StoredEnding = { since: new Date(now).toISOString(), status, error: failure, fingerprint }
    const text = failure ? JSON.stringify(failure) : null
    const values = [now, now, now, text, fingerprint ?? null, JSON.stringify(ending), id]
    this.#statements.run(sql.BEGIN_UNDO, ...values)
    this.#children.forgetWaits(id)
    this.#statements.run(sql.CLOSE_ASKS, now, id)
    // That of a run that failed is told by its own event.
    const told = status === 'cancelled' && error ? { status, error } : { status }
    appendEvent(this.#statements, id, 'undoing', told, now)
  }

  /** What requeued jobs do not keep: forget_undecided of Postgres. */
  forget(ids: readonly JobId[], now: number): void {
    const list = JSON.stringify(ids)
    this.#statements.run(sql.FORGET_UNDECIDED, list)
    for (const { id, last } of this.#statements.all<{ id: JobId; last: number }>(sql.UNDONE, list)) {
      const first = this.#statements.get<{ name: string }>(sql.FIRST_FORGOTTEN, id, last)
      if (first) appendEvent(this.#statements, id, 'steps_forgotten', { by: null, from: first.name }, now)
      this.#statements.run(sql.FORGET_AFTER, id, last)
      this.#statements.run(sql.FORGET_UNDONE_CHILDREN, id)
    }
    this.#statements.run(sql.MARK_UNDOABLE, list)
  }
}
