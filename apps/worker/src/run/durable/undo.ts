import { type JobError, OncueError, type StepOptions } from '@oncue/core'
import { asSignal } from '@oncue/core/internal'
import type { ClaimedJob, StoredEnding } from '@oncue/db'
import type { Work } from '../steps.ts'

/** What a handler registered with `ctx.undo`. */
export type RegisteredUndo = { readonly work: Work; readonly options: StepOptions }

/** How the undoing of a job ended in this run. */
export type UndoEnd =
  | { readonly how: 'undone' }
  /** `isFinal`: another run would meet the same. */
  | { readonly how: 'not_undone'; readonly error: unknown; readonly isFinal: boolean }

/** Ten repeats in about 17 minutes: an effect that is not taken back needs a person. */
const RETRY = { max: 10, strategy: 'exponential' } as const

export function withUndoRetry({ retry, ...options }: StepOptions): StepOptions {
  return { ...options, retry: { ...RETRY, ...retry } }
}

/** The job has ended badly, and this run undoes it. */
export function isUndoing({ ending }: Pick<ClaimedJob, 'ending'>): boolean {
  return ending?.status !== undefined
}

/** The handler did not come to these. `thrown`: why, if it threw before; then another run may. */
export function undoMissing(names: readonly string[], thrown: unknown): UndoEnd {
  const listed = names.map((name) => JSON.stringify(name)).join(', ')
  const message = `the handler no longer comes to the undo of ${listed}, which earlier runs registered: nothing was undone`
  const error = new OncueError('UNDO_MISSING', message, { cause: thrown })
  return { how: 'not_undone', error, isFinal: thrown === undefined }
}

/** What its handler and middleware get. */
export function comesNoFurther(): Error {
  const error = new OncueError('JOB_SUSPENDED', 'the job is being undone; its handler comes no further')
  return asSignal(error, { kind: 'suspend' })
}

export function undoFailed(name: string, left: readonly string[], cause: unknown): UndoEnd {
  const before =
    left.length > 0 ? `; not undone either: ${left.map((each) => JSON.stringify(each)).join(', ')}` : ''
  const why = cause instanceof Error ? cause.message : String(cause)
  const message = `the undo ${JSON.stringify(name)} failed: ${why}${before}`
  return { how: 'not_undone', error: new OncueError('UNDO_FAILED', message, { cause }), isFinal: true }
}

/** What went wrong while a job was undone, with why it had to be. */
export function withOriginal(error: JobError, ending: StoredEnding | null): JobError {
  if (!ending?.error) return error
  const { causes: _, fingerprint: __, ...original } = ending.error
  return { ...error, causes: [...(error.causes ?? []), original] }
}
