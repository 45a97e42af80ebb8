import { ERRORS, type ErrorCode, type JobError, OncueError } from '@oncue/core'
import { asSignal, describeError, type Signal, signalOf } from '@oncue/core/internal'

/** An error that is sent to another process. */
export interface PackedError {
  readonly error: JobError
  /** PermanentError, Snooze, Cancel. */
  readonly signal: Signal | undefined
}

/** Packs anything that can be thrown. */
export function packError(thrown: unknown, topic: string): PackedError {
  let signal: Signal | undefined
  try {
    signal = signalOf(thrown)
  } catch {
    // A proxy whose traps throw is a plain failure.
  }
  return { error: describeError(thrown, topic), signal }
}

/** Has the same class name, message, code, stack and causes, so that `describeError` describes it the same. */
export function unpackError({ error, signal }: PackedError): Error {
  const revived = revive([error, ...(error.causes ?? [])])
  return signal ? asSignal(revived, signal) : revived
}

function revive([first, ...causes]: readonly Omit<JobError, 'fingerprint'>[]): Error {
  const { class: name = 'Error', message = '', code, stack } = first ?? {}
  const options = causes.length > 0 ? { cause: revive(causes) } : {}
  const isOurs = name === 'OncueError' && code !== undefined && code in ERRORS
  const error = isOurs ? new OncueError(code as ErrorCode, message, options) : new Error(message, options)
  if (!isOurs) Object.assign(error, { name }, code !== undefined && { code })
  // A thrown value without a stack, such as a string, must not get one from here.
  if (stack === undefined) Reflect.deleteProperty(error, 'stack')
  else error.stack = stack
  return error
}
