import { isOncueError } from '@oncue/core'
import { type Answer, Unanswered } from './post.ts'

/** What became of one attempt. Errors are shown to everybody on call, so they quote nothing that was answered. */
export type Outcome =
  /** A phone's is with Expo: whether it went on from there, its receipt tells later. */
  | { readonly kind: 'delivered'; readonly receiptId?: string | undefined }
  /** Another attempt may help. */
  | { readonly kind: 'failed'; readonly error: string; readonly retryAfterMs?: number | undefined }
  /** Another attempt will hardly help, unless somebody mends something. */
  | { readonly kind: 'refused'; readonly error: string }
  /** Nobody is there any more. */
  | { readonly kind: 'gone'; readonly error: string }

/** Also what is said by those who mean to take it: too slow, too early, too many. */
export function isLater(status: number): boolean {
  return status >= 500 || [408, 425, 429].includes(status)
}

/** `code` is the one word that some services say beside the status. */
export function outcomeOf({ status, retryAfterMs }: Omit<Answer, 'text'>, code = ''): Outcome {
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  const error = `It answered ${status}${code && ` (${code})`}`
  if (status === 410) return { kind: 'gone', error }
  if (isLater(status)) return { kind: 'failed', error, retryAfterMs }
  const isRedirect = status >= 300 && status < 400
  return { kind: 'refused', error: isRedirect ? `${error}; redirects are not followed` : error }
}

/** There was no answer. What was thrown for another reason is thrown on. */
export function outcomeOfSilence(error: unknown): Outcome {
  const cause = error instanceof Unanswered ? error.cause : error
  if (isOncueError(cause, 'ADDRESS_NOT_ALLOWED')) return { kind: 'refused', error: cause.message }
  if (error instanceof Unanswered) return { kind: 'failed', error: error.message }
  throw error
}
