import type { NewJob } from '@oncue/core'
import { drive, type Row, type Step } from '../../queue/transaction.ts'
import type { Claimed, ClaimRequest, EnqueueOutcome } from '../../store.ts'
import { enqueueSteps } from '../enqueue.ts'
import { Actions } from './actions.ts'
import { Children } from './children.ts'
import { Claim } from './claim.ts'
import { Durable } from './durable.ts'
import { Ends } from './ends.ts'
import { Lease } from './lease.ts'
import { Limits } from './limits.ts'
import { Settle } from './settle.ts'
import type { Statements } from './statements.ts'
import { Undo } from './undo.ts'

/**
 * What prisma/postgres/functions does on Postgres. Everything is synchronous and runs
 * inside one `BEGIN IMMEDIATE`, so there is one writer and no need for locks, marks or snapshots.
 */
export class SqliteWork {
  readonly limits: Limits
  readonly lease: Lease
  readonly actions: Actions
  readonly durable: Durable
  readonly children: Children
  readonly #statements: Statements
  readonly #settle: Settle

  constructor(statements: Statements) {
    this.#statements = statements
    this.limits = new Limits(this.#statements)
    this.children = new Children(this.#statements)
    const undo = new Undo(this.#statements, this.children)
    const ends = new Ends(this.#statements, this.limits, this.children, undo)
    this.durable = new Durable(this.#statements, this.children)
    this.#settle = new Settle(this.#statements, ends, this.limits, this.durable, undo)
    this.lease = new Lease(this.#statements, this.#settle, ends, this.limits, undo)
    this.actions = new Actions(this.#statements, ends, this.children, undo)
  }

  /** Returns the id of the new or existing job for each. */
  enqueue(jobs: readonly NewJob[], now: number): EnqueueOutcome[] {
    return drive(enqueueSteps(jobs, now), (step) => this.#statements.step(step))
  }

  /** One statement of steps that run in the writer's transaction. */
  step(step: Step): Row[] {
    return this.#statements.step(step)
  }

  claim(request: ClaimRequest, now: number): Claimed {
    return new Claim(this.#statements, this.limits, this.lease, request, now).claim()
  }

  settle: Settle['settle'] = (settlements, worker, now) => this.#settle.settle(settlements, worker, now)

  complete: Settle['complete'] = (completion, worker, now) => this.#settle.complete(completion, worker, now)
}
