import type { JobError } from '../job/failure.ts'
import type { JobId } from '../job/id.ts'
import { asSignal } from './signals.ts'

declare const result: unique symbol

/** A child of a running job: a promise of its id, and what `ctx.all` and `ctx.allSettled` wait for. */
export interface Child<Result = unknown> extends Promise<JobId> {
  /** Names the call among all of the job. */
  readonly key: string
  readonly topic: string
  /** Not there: it carries the type of the result. */
  readonly [result]?: Result
}

type ResultOfChild<C> = C extends Child<infer Result> ? Result : never

/** The results of children, in their order. */
export type ResultsOf<Children extends readonly Child[]> = {
  -readonly [N in keyof Children]: ResultOfChild<Children[N]>
}

/** A child that did not complete. `gone`: it was removed. */
export interface FailedChild {
  readonly id: JobId
  readonly topic: string
  readonly status: 'failed' | 'cancelled' | 'gone'
  /** Without its stack; null if it never ran. */
  readonly error: JobError | null
}

/** How a child ended, in the shape of `Promise.allSettled`. */
export type SettledChild<Result = unknown> =
  | { readonly status: 'fulfilled'; readonly value: Result }
  | { readonly status: 'rejected'; readonly reason: FailedChild }

/** How each child ended, in their order. */
export type SettledOf<Children extends readonly Child[]> = {
  -readonly [N in keyof Children]: SettledChild<ResultOfChild<Children[N]>>
}

/** How many failed children an error names. */
const NAMED = 10

/**
 * Some of the children that `ctx.all` waited for did not complete. Not retried, because their end is recorded: requeue
 * one of them, or the job.
 */
export class ChildrenFailed extends Error {
  override readonly name = 'ChildrenFailed'
  readonly code = 'CHILDREN_FAILED'
  readonly children: readonly FailedChild[]

  constructor(children: readonly FailedChild[], total: number) {
    const named = children
      .slice(0, NAMED)
      .map(({ id, topic, status, error }) => `${topic} ${id}: ${error?.message ?? status}`)
    const more = children.length > NAMED ? [`and ${children.length - NAMED} more`] : []
    super(`${children.length} of ${total} children did not complete: ${[...named, ...more].join('; ')}`)
    this.children = children
    asSignal(this, { kind: 'permanent' })
  }
}
