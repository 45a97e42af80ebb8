import type { JobId } from '@oncue/core'
import type { spawnedJobs } from '../../portable/children.ts'
import * as sql from '../sql-children.ts'
import { RECORD, WAKE } from '../sql-durable.ts'
import type { Statements } from './statements.ts'

/** Jobs that others have spawned and wait for: await_children, wake_parents, requeue_family and so on of Postgres. */
export class Children {
  readonly #statements: Statements

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** Checked once per batch, so that plain jobs pay for nothing else. */
  get #any(): boolean {
    return this.#statements.get(sql.ANY_CHILDREN) !== undefined
  }

  keep(parent: JobId, key: string, spawned: ReturnType<typeof spawnedJobs>, now: number): void {
    const data = Object.fromEntries(spawned.map(({ key, id, hash }) => [key, [id, hash]]))
    this.#statements.run(RECORD, parent, key, parent, 'spawn', null, JSON.stringify(data), now)
    const children = spawned.filter(({ child }) => child)
    const rows = children.map(({ key, id, cancels }) => [key, id, cancels ? 1 : 0])
    this.#statements.run(sql.KEEP, parent, JSON.stringify(rows))
  }

  /** The parent is about to be suspended: returns whether these have all ended, which is then recorded. */
  await(parent: JobId, wait: string, children: readonly JobId[], now: number): boolean {
    this.#statements.run(sql.AWAIT, parent, wait, JSON.stringify(children))
    return this.#endWait(parent, wait, now)
  }

  /** Of an earlier suspension. */
  forgetWaits(parent: JobId): void {
    this.#statements.run(sql.FORGET_WAITS, parent)
  }

  /** Records that these have all ended, if they have. */
  recordEnded(parent: JobId, wait: string, children: readonly JobId[], now: number): void {
    if (!this.#statements.get(sql.ANY_LIVE, JSON.stringify(children))) this.#record(parent, wait, now)
  }

  #endWait(parent: JobId, wait: string, now: number): boolean {
    if (this.#statements.get(sql.ANY_AWAITED, parent, wait)) return false
    this.#record(parent, wait, now)
    return true
  }

  #record(parent: JobId, wait: string, now: number): void {
    const failed = this.#statements
      .all<{ id: JobId; status: string; error: string | null }>(sql.FAILED_CHILDREN, parent)
      .map(({ id, status, error }) => [id, status, error && JSON.parse(error)])
    this.#statements.run(RECORD, parent, wait, parent, 'children', null, JSON.stringify({ failed }), now)
  }

  /** Wakes the parents whose awaited children have all ended, now that these have. */
  ended(ids: readonly JobId[], now: number): void {
    if (!this.#any) return
    const list = JSON.stringify(ids)
    const met = this.#statements.all<{ parent_id: JobId; wait: string }>(sql.WAITS_FOR, list)
    this.#statements.run(sql.DROP_WAITS, list)
    for (const { parent_id, wait } of met)
      if (this.#endWait(parent_id, wait, now)) this.#statements.run(WAKE, now, now, now, parent_id, now)
  }

  /** The live children of those of these jobs that were cancelled. */
  orphansOf(ids: readonly JobId[]): { readonly id: JobId; readonly status: string }[] {
    return this.#any ? this.#statements.all(sql.ORPHANS, JSON.stringify(ids)) : []
  }

  /** Of these jobs the ones that a live job has spawned. */
  ofLiveParents(ids: Iterable<JobId>): Set<JobId> {
    if (!this.#any) return new Set()
    const rows = this.#statements.all<{ id: JobId }>(sql.OF_LIVE_PARENTS, JSON.stringify([...ids]))
    return new Set(rows.map(({ id }) => id))
  }

  /** These were put back: a parent that waits for children waits for them too. Returns who goes back with them. */
  requeued(ids: readonly JobId[]): JobId[] {
    if (!this.#any) return []
    const list = JSON.stringify(ids)
    this.#statements.run(sql.AWAIT_AGAIN, list)
    return this.#statements.all<{ id: JobId }>(sql.FAILED_FAMILY, list, list).map(({ id }) => id)
  }
}
