import { OncueError } from './errors.ts'
import { findFault } from './json-fault.ts'
import { LIMITS } from './limits.ts'
import { formatPath } from './path.ts'
import { utf8Length } from './text.ts'

/** What is being encoded: decides the limit, the code of an error, and the first word of its path. */
export type JsonKind = 'payload' | 'result' | 'meta' | 'cursor' | 'progress' | 'event'

const KINDS = {
  payload: { limit: LIMITS.payloadBytes, notJson: 'INVALID_PAYLOAD', tooLarge: 'PAYLOAD_TOO_LARGE' },
  result: { limit: LIMITS.payloadBytes, notJson: 'INVALID_RESULT', tooLarge: 'PAYLOAD_TOO_LARGE' },
  meta: { limit: LIMITS.metaBytes, notJson: 'INVALID_INPUT', tooLarge: 'META_TOO_LARGE' },
  cursor: { limit: LIMITS.cursorBytes, notJson: 'INVALID_INPUT', tooLarge: 'PAYLOAD_TOO_LARGE' },
  progress: { limit: LIMITS.progressBytes, notJson: 'INVALID_INPUT', tooLarge: 'PAYLOAD_TOO_LARGE' },
  event: { limit: LIMITS.eventBytes, notJson: 'INVALID_INPUT', tooLarge: 'PAYLOAD_TOO_LARGE' },
} as const satisfies Record<JsonKind, object>

/**
 * JSON text of a value that will come back as it was sent, or an error that says where it would not.
 *
 * Like JSON.stringify it honours `toJSON`, drops undefined properties and makes undefined elements null.
 * Unlike it, it never turns what JSON cannot hold into null, `{}` or nothing. No value at all is `null`.
 * One walk that copies nothing, then one native stringify; so `toJSON` is called twice.
 */
export function encodeJson(value: unknown, kind: JsonKind, maxBytes: number = KINDS[kind].limit): string {
  const fault = findFault(value, maxBytes)
  if (fault?.kind === 'too_large') throw tooLarge(kind, `more than ${fault.bytes}`, fault.bytes, maxBytes)
  if (fault) {
    const code = fault.kind === 'not_json' ? KINDS[kind].notJson : fault.kind
    throw new OncueError(code, `${formatPath(kind, fault.path)} ${fault.message}`)
  }
  const text = JSON.stringify(value) ?? 'null'
  // A UTF-16 unit never takes more than three bytes, so most texts need no counting.
  if (text.length * 3 > maxBytes) {
    const bytes = utf8Length(text)
    if (bytes > maxBytes) throw tooLarge(kind, `${bytes}`, bytes, maxBytes)
  }
  return text
}

function tooLarge(kind: JsonKind, size: string, bytes: number, maxBytes: number): OncueError {
  const message = `${kind} takes ${size} bytes as JSON, at most ${maxBytes} are allowed`
  return new OncueError(KINDS[kind].tooLarge, message, { details: { bytes, maxBytes } })
}
