import { LIMITS, OncueError } from '@oncue/core'
import { encodeJson } from '@oncue/core/internal'
import type { NewEvent } from './types.ts'

const TYPE = /^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$/

/** The result of a step, and its name, whose characters may take six bytes each. */
const STEP_BYTES = LIMITS.payloadBytes + 6 * LIMITS.stepNameLength + 64

export type EncodedEvent = { readonly type: string; readonly data: string | null }

/** What is written of them, or why it cannot be. */
export function encodeEvents(events: readonly NewEvent[]): EncodedEvent[] {
  if (events.length > LIMITS.events) {
    const message = `${events.length} events in one append, at most ${LIMITS.events} are allowed`
    throw new OncueError('BATCH_TOO_LARGE', message)
  }
  return events.map(({ type, data }) => {
    if (typeof type !== 'string' || type.length > LIMITS.eventTypeLength || !TYPE.test(type)) {
      throw new OncueError(
        'INVALID_INPUT',
        `event.type must be 1 to ${LIMITS.eventTypeLength} letters, digits and _ . : - /, got ${JSON.stringify(type)?.slice(0, 100)}`,
      )
    }
    const maxBytes = type === 'step_finished' ? STEP_BYTES : LIMITS.eventBytes
    return { type, data: data === undefined ? null : encodeJson(data, 'event', maxBytes) }
  })
}

/** Versions are whole numbers; 0 is the stream before its first event. */
export function assertVersion(value: number, what: string): void {
  if (Number.isSafeInteger(value) && value >= 0 && value <= MAX_VERSION) return
  throw new OncueError(
    'INVALID_INPUT',
    `${what} must be a whole number from 0 to ${MAX_VERSION}, got ${value}`,
  )
}

/** A Postgres integer. */
const MAX_VERSION = 2_147_483_647

const MAX_LIST = 1_000

/** How many events a list may have: as many as one page. */
export function listLimit(limit: number = MAX_LIST): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIST) return limit
  throw new OncueError('INVALID_INPUT', `limit must be a whole number from 1 to ${MAX_LIST}, got ${limit}`)
}
