import { errorClassName } from './failure.ts'

export type ErrorClass = abstract new (...args: never[]) => Error

/**
 * Whether a failure of this kind is retried at all; without a list every kind is. The name counts too,
 * because an error that crossed a process or came from another copy of a package is no instance.
 */
export function isRetriedKind(error: unknown, retryOn: readonly ErrorClass[]): boolean {
  if (retryOn.length === 0) return true
  return retryOn.some((kind) => error instanceof kind || errorClassName(error) === kind.name)
}
