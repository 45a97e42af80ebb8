import { OncueError } from '../errors.ts'
import { LIMITS } from '../job/limits.ts'
import { quote } from '../job/text.ts'

/** What a handler asks for by throwing; anything else it throws is a failure that its policy may retry. */
export type Signal =
  | { readonly kind: 'permanent' }
  | { readonly kind: 'snooze'; readonly delayMs: number }
  | { readonly kind: 'cancel'; readonly reason: string | undefined }
  /** Only Oncue throws it, at middleware whose run leaves the worker. */
  | { readonly kind: 'suspend' }

/** A registered symbol, so that a handler's copy of this package and the worker's understand each other. */
const SIGNAL: unique symbol = Symbol.for('oncue.signal')

/** The job fails now: no retry would help. Wrap the error that says why as its `cause`. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError'
  readonly [SIGNAL]: Signal = { kind: 'permanent' }
}

/** Run the job again in `ms` milliseconds. Charged neither as a retry nor as a failure. */
export class Snooze extends Error {
  override readonly name = 'Snooze'
  readonly [SIGNAL]: Signal

  constructor(ms: number) {
    if (!(ms >= 0 && ms <= LIMITS.retryDelayMs)) {
      throw new OncueError(
        'INVALID_INPUT',
        `Snooze takes 0 to ${LIMITS.retryDelayMs} milliseconds, not ${quote(ms)}`,
      )
    }
    super(`snoozed for ${ms} ms`)
    this[SIGNAL] = { kind: 'snooze', delayMs: Math.trunc(ms) }
  }
}

/** The job ends as cancelled: it is no longer wanted, and that is no failure. */
export class Cancel extends Error {
  override readonly name = 'Cancel'
  readonly [SIGNAL]: Signal

  constructor(reason?: string) {
    super(reason ?? 'cancelled by its handler')
    this[SIGNAL] = { kind: 'cancel', reason }
  }
}

export function signalOf(error: unknown): Signal | undefined {
  if (typeof error !== 'object' || error === null || !(SIGNAL in error)) return undefined
  return error[SIGNAL] as Signal
}

/** Gives an error from another process the signal that it had there. */
export function asSignal(error: Error, signal: Signal): Error {
  return Object.assign(error, { [SIGNAL]: signal })
}
