import { LIMITS, OncueError } from '@oncue/core'
import { assertText } from '@oncue/core/internal'

/** Who did it: free text that is kept and shown. */
export function assertBy(by: string | undefined): void {
  if (by === undefined) return
  if (typeof by !== 'string' || by.length > LIMITS.keyLength) {
    throw new OncueError('INVALID_INPUT', `by must be a text of at most ${LIMITS.keyLength} characters`)
  }
  assertText(by, 'by')
}
