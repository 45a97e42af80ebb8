import { LIMITS } from '@oncue/core'
import { utf8Length } from '@oncue/core/internal'

/** Over this size a payload or result is stored once, in its own table, and never written again. */
export function isInline(json: string): boolean {
  // A UTF-16 unit takes at most three bytes, so short texts need no count.
  return json.length * 3 <= LIMITS.inlineBytes || utf8Length(json) <= LIMITS.inlineBytes
}
