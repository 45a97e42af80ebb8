import {
  isOncueError,
  type JobDefinition,
  type JobError,
  OncueError,
  type RetryPolicy,
  retryDelayMs,
} from '@oncue/core'
import {
  acceptsAnything,
  describeError,
  encodeJson,
  isRetriedKind,
  parseResult,
  signalOf,
} from '@oncue/core/internal'
import type { ClaimedJob, Settlement, SuspendedWait } from '@oncue/db'
import { type AbortReason, isAbort, toAbortError } from './abort.ts'
import { type UndoEnd, withOriginal } from './durable/undo.ts'

/** Every way in which a run can end. */
export type End =
  | { readonly how: 'returned'; readonly value: unknown }
  | { readonly how: 'threw'; readonly error: unknown }
  /** The payload does not fit its schema: the handler was not called. */
  | { readonly how: 'unfit'; readonly error: unknown }
  /** It waits outside of the worker. */
  | {
      readonly how: 'suspended'
      readonly waits: readonly SuspendedWait[]
      readonly progressed: boolean
      /** Why the last attempt failed of what it waits to repeat. */
      readonly error?: JobError | undefined
    }
  /** The undos of the job have run, or did not all. */
  | UndoEnd
  /** Aborted, and did not end. */
  | { readonly how: 'ignored'; readonly note: string }

/** What decides about the settlement, besides the end itself. */
export interface Situation {
  readonly job: ClaimedJob
  readonly definition: JobDefinition
  readonly aborted: AbortReason | null
  /** A step has run and its result could not be stored. */
  readonly unstored: OncueError | null
  /** For jobs without a policy of their own or of their definition. */
  readonly retry: RetryPolicy | null
}

/** How to settle a run that ended so; null: not at all, because another run owns the job. */
export function settlementOf(end: End, situation: Situation): Settlement | null {
  if (situation.aborted === 'lost') return null
  const { unstored } = situation
  const settlement = withReason(tryToDecide(end, situation), situation)
  // Whatever the handler threw: another run would repeat the effect of the step.
  return unstored && REPEATS.has(settlement.kind) ? failed(unstored, situation) : settlement
}

/** What went wrong in a job that is being undone says why it is. */
function withReason(settlement: Settlement, { job }: Situation): Settlement {
  if (job.ending === null || settlement.kind === 'cancel' || !('error' in settlement)) return settlement
  return settlement.error ? { ...settlement, error: withOriginal(settlement.error, job.ending) } : settlement
}

const REPEATS: ReadonlySet<Settlement['kind']> = new Set(['retry', 'snooze', 'release', 'suspend'])

function tryToDecide(end: End, situation: Situation): Settlement {
  try {
    return decide(end, situation)
  } catch (error) {
    // A handler may throw a proxy whose traps throw.
    return retried(end.how === 'threw' ? end.error : error, situation)
  }
}

function decide(end: End, situation: Situation): Settlement {
  switch (end.how) {
    case 'returned':
      return returned(end.value, situation)
    case 'threw':
      return threw(end.error, situation)
    case 'unfit':
      return failed(end.error, situation)
    case 'suspended': {
      const { id, run } = situation.job
      const { waits, progressed, error } = end
      return { id, run, kind: 'suspend', waits, progressed, ...(error && { error }) }
    }
    case 'undone':
      return { id: situation.job.id, run: situation.job.run, kind: 'undone' }
    case 'not_undone':
      if (situation.aborted && isAbort(end.error, situation.aborted)) return aborted(situation, end.error)
      return end.isFinal ? failed(end.error, situation) : retried(end.error, situation)
    case 'ignored':
      return aborted(situation, undefined, end.note)
  }
}

/** A result counts even if the run was aborted: its effects have happened, and it still owns the job. */
function returned(value: unknown, situation: Situation): Settlement {
  const { job, definition } = situation
  const { id, run, topic } = job
  try {
    const result = encodeResult(value, definition, topic)
    return result === undefined ? { id, run, kind: 'complete' } : { id, run, kind: 'complete', result }
  } catch (error) {
    // Not retried: another run would repeat the effects and return the same.
    return failed(error, situation)
  }
}

/** JSON text, checked by the output schema of the topic: INVALID_RESULT. */
export function encodeResult(
  value: unknown,
  definition: Pick<JobDefinition, 'output'>,
  topic: string,
): string | undefined {
  // A job without `output` may return any JSON.
  const isUnchecked = acceptsAnything(definition.output)
  if (value === undefined && isUnchecked) return undefined
  try {
    const result = encodeJson(value, 'result')
    if (!isUnchecked) parseResult(definition.output, JSON.parse(result), topic)
    return value === undefined ? undefined : result
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : 'the result cannot be read'
    throw new OncueError('INVALID_RESULT', message, { cause })
  }
}

function threw(error: unknown, situation: Situation): Settlement {
  const { job, definition } = situation
  const { id, run } = job
  // The child process died. Like a timeout, this is no error of the handler.
  const isCrash = isOncueError(error, 'WORKER_CRASHED')
  if (situation.aborted && (isCrash || isAbort(error, situation.aborted))) return aborted(situation, error)
  const signal = signalOf(error)
  switch (signal?.kind) {
    case 'permanent':
      return failed(error, situation)
    case 'snooze':
      return { id, run, kind: 'snooze', delayMs: signal.delayMs }
    case 'cancel':
      return { id, run, kind: 'cancel', error: describe(error, job) }
  }
  if (situation.aborted === 'timeout') return aborted(situation, error)
  const isOurs = isCrash || isOncueError(error, 'COMPLETE_ROLLED_BACK')
  const isRetried = isOurs || isRetriedKind(error, definition.retryOn)
  return isRetried ? retried(error, situation) : failed(error, situation)
}

/** A run that ended because it was aborted. */
function aborted(situation: Situation, cause?: unknown, note = ''): Settlement {
  const { id, run } = situation.job
  switch (situation.aborted) {
    case 'timeout': {
      const { code, message } = toAbortError('timeout', situation.job)
      const known = isOncueError(cause, code) ? undefined : cause
      return retried(new OncueError(code, message + note, { cause: known }), situation)
    }
    case 'cancelled':
      return { id, run, kind: 'cancel' }
    default:
      return { id, run, kind: 'release', interrupted: true }
  }
}

/** Charged. The store fails the job if no retries are left. */
function retried(error: unknown, { job, definition, retry }: Situation): Settlement {
  const { id, run } = job
  const delayMs = retryDelayMs(job.retry ?? definition.retry ?? retry, job.retries + 1)
  return { id, run, kind: 'retry', delayMs, error: describe(error, job) }
}

function failed(error: unknown, { job }: Situation): Settlement {
  const { id, run } = job
  return { id, run, kind: 'fail', error: describe(error, job) }
}

function describe(error: unknown, { topic }: ClaimedJob): JobError {
  return describeError(error, topic)
}
