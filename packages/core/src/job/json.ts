import { OncueError } from '../errors.ts'
import { LIMITS } from './limits.ts'
import { formatPath, isStorableText, quote, textFault, utf8Length } from './text.ts'

/** The kind of value that is encoded: decides the limit, the code of an error, and the first word of its path. */
export type JsonKind = 'payload' | 'result' | 'meta' | 'cursor' | 'progress' | 'event' | 'signal' | 'answer'

const KINDS = {
  payload: { limit: LIMITS.payloadBytes, notJson: 'INVALID_PAYLOAD', tooLarge: 'PAYLOAD_TOO_LARGE' },
  result: { limit: LIMITS.payloadBytes, notJson: 'INVALID_RESULT', tooLarge: 'PAYLOAD_TOO_LARGE' },
  meta: { limit: LIMITS.metaBytes, notJson: 'INVALID_INPUT', tooLarge: 'META_TOO_LARGE' },
  cursor: { limit: LIMITS.cursorBytes, notJson: 'INVALID_INPUT', tooLarge: 'PAYLOAD_TOO_LARGE' },
  progress: { limit: LIMITS.progressBytes, notJson: 'INVALID_INPUT', tooLarge: 'PAYLOAD_TOO_LARGE' },
  signal: { limit: LIMITS.payloadBytes, notJson: 'INVALID_SIGNAL', tooLarge: 'PAYLOAD_TOO_LARGE' },
  answer: { limit: LIMITS.payloadBytes, notJson: 'INVALID_ANSWER', tooLarge: 'PAYLOAD_TOO_LARGE' },
  event: { limit: LIMITS.eventBytes, notJson: 'INVALID_INPUT', tooLarge: 'PAYLOAD_TOO_LARGE' },
} as const satisfies Record<JsonKind, object>

/**
 * JSON text of a value that parses to the same value, or an error that says where it would not.
 *
 * Like JSON.stringify it honours `toJSON`, drops undefined properties and makes undefined elements null.
 * Unlike it, it never turns what JSON cannot hold into null, `{}` or nothing. A missing value becomes `null`.
 * One walk that copies nothing, then one native stringify; so `toJSON` is called twice.
 */
export function encodeJson(value: unknown, kind: JsonKind, maxBytes: number = KINDS[kind].limit): string {
  refuseFault(value, kind, maxBytes)
  const text = JSON.stringify(value) ?? 'null'
  // A UTF-16 unit never takes more than three bytes, so most texts need no counting.
  if (text.length * 3 > maxBytes) {
    const bytes = utf8Length(text)
    if (bytes > maxBytes) throw tooLarge(kind, `${bytes}`, bytes, maxBytes)
  }
  return text
}

/**
 * The value that JSON.parse would return for a value's text, and the length of that text; refuses what `encodeJson`
 * refuses. For values that are encoded later, as part of something larger.
 */
export function copyJson(
  value: unknown,
  kind: JsonKind,
  maxBytes: number = KINDS[kind].limit,
): { readonly value: unknown; readonly bytes: number } {
  refuseFault(value, kind, maxBytes)
  const size = { bytes: 0 }
  const copied = copy(value, '', size)
  if (copied === undefined) return { value: null, bytes: 'null'.length }
  if (size.bytes > maxBytes) throw tooLarge(kind, `${size.bytes}`, size.bytes, maxBytes)
  return { value: copied, bytes: size.bytes }
}

/** For a value without faults: it has no cycle, and of the values that JSON cannot hold only undefined. */
function copy(given: unknown, key: string, size: { bytes: number }): unknown {
  const value = asJson(given, key)
  if (value === undefined) return undefined
  if (typeof value === 'string') size.bytes += quotedBytes(value)
  else if (typeof value !== 'object' || value === null) size.bytes += String(value).length
  else return Array.isArray(value) ? copyArray(value, size) : copyObject(value, size)
  return Object.is(value, -0) ? 0 : value
}

/** What JSON.stringify writes of a value. */
function asJson(value: unknown, key: string): unknown {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'bigint') return value
  const { toJSON } = value as { toJSON?: unknown }
  const json: unknown = typeof toJSON === 'function' ? toJSON.call(value, key) : value
  return json instanceof String ? String(json) : json
}

function copyArray(array: readonly unknown[], size: { bytes: number }): unknown[] {
  size.bytes += 1 + Math.max(1, array.length)
  return Array.from(array, (item, n) => {
    const copied = copy(item, String(n), size)
    if (copied !== undefined) return copied
    size.bytes += 'null'.length
    return null
  })
}

function copyObject(object: object, size: { bytes: number }): Record<string, unknown> {
  const copied: Record<string, unknown> = {}
  let fields = 0
  for (const [name, given] of Object.entries(object)) {
    const field = copy(given, name, size)
    if (field === undefined) continue
    copied[name] = field
    fields++
    size.bytes += quotedBytes(name) + 1
  }
  size.bytes += 1 + Math.max(1, fields)
  return copied
}

/** Bytes of a well-formed text in UTF-8, quoted and escaped as JSON.stringify does. */
function quotedBytes(text: string): number {
  let bytes = 2 + utf8Length(text)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === QUOTE || unit === BACKSLASH) bytes += 1
    // Five of them have an escape of two characters, the others are written as \u001f.
    else if (unit < 0x20) bytes += '\b\t\n\f\r'.includes(text.charAt(i)) ? 1 : 5
  }
  return bytes
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

function refuseFault(value: unknown, kind: JsonKind, maxBytes: number): void {
  const fault = findFault(value, maxBytes)
  if (fault?.kind === 'too_large') throw tooLarge(kind, `more than ${fault.bytes}`, fault.bytes, maxBytes)
  if (!fault) return
  const code = fault.kind === 'not_json' ? KINDS[kind].notJson : fault.kind
  throw new OncueError(code, `${formatPath(kind, fault.path)} ${fault.message}`)
}

function tooLarge(kind: JsonKind, size: string, bytes: number, maxBytes: number): OncueError {
  const message = `${kind} takes ${size} bytes as JSON, at most ${maxBytes} are allowed`
  return new OncueError(KINDS[kind].tooLarge, message, { details: { bytes, maxBytes } })
}

/** Why a value cannot be stored as JSON, and where in it. */
type JsonFault =
  | {
      readonly kind: 'not_json' | 'INVALID_TEXT' | 'UNSAFE_NUMBER'
      readonly message: string
      readonly path: readonly PropertyKey[]
    }
  | { readonly kind: 'too_large'; readonly bytes: number }

/**
 * A fault on its way up from where it was found. Each level adds itself, so that a value without faults, as
 * nearly every value is, costs neither a path nor a list of ancestors.
 */
interface Found {
  readonly kind: JsonFault['kind'] | 'too_deep'
  readonly message: string
  /** Innermost first. */
  readonly trail: { readonly container: object; readonly key: string | number }[]
}

interface Walk {
  /** How many more values the walk may visit: an object that is shared 2^30 times must not hang it. */
  left: number
}

function findFault(root: unknown, maxBytes: number): JsonFault | undefined {
  // Every value takes at least a byte, so the size is certainly over the limit before the walk gives up;
  // the factor leaves ordinary oversized values to be measured exactly.
  const walkLimit = 4 * maxBytes
  const found = inspect(root, '', { left: walkLimit }, 0)
  if (!found) return undefined
  if (found.kind === 'too_large') return { kind: 'too_large', bytes: walkLimit }

  const trail = found.trail.reverse()
  const path = trail.map(({ key }) => key)
  if (found.kind !== 'too_deep') return { kind: found.kind, message: found.message, path }

  // Only a walk that went too deep can have met a cycle, so only then one is searched for.
  const containers = trail.map(({ container }) => container)
  const repeated = containers.findIndex((container, i) => containers.indexOf(container) < i)
  if (repeated === -1) return { kind: 'not_json', message: found.message, path }
  return {
    kind: 'not_json',
    message: 'refers back to an object that contains it',
    path: path.slice(0, repeated),
  }
}

const fault = (kind: Found['kind'], message: string): Found => ({ kind, message, trail: [] })

function inside(found: Found, container: object, key: string | number): Found {
  found.trail.push({ container, key })
  return found
}

function inspect(value: unknown, key: string | number, walk: Walk, depth: number): Found | undefined {
  // bigint too: some programs give BigInt.prototype a toJSON, and JSON.stringify uses it.
  if ((typeof value === 'object' && value !== null) || typeof value === 'bigint') {
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON === 'function') {
      if (value instanceof Date && Number.isNaN(value.getTime()))
        return fault('not_json', 'is an invalid Date')
      return inspectJson(toJSON.call(value, String(key)), walk, depth)
    }
  }
  return inspectJson(value, walk, depth)
}

/** Like `inspect`, for the value that JSON.stringify writes: it calls `toJSON` only once. */
function inspectJson(value: unknown, walk: Walk, depth: number): Found | undefined {
  switch (typeof value) {
    case 'string':
      return isStorableText(value) ? undefined : fault('INVALID_TEXT', textFault(value))
    case 'number':
      if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return undefined
      if (Number.isFinite(value)) return fault('UNSAFE_NUMBER', `is ${value}, beyond 2^53 - 1`)
      return fault('not_json', `is ${value}, which JSON would turn into null`)
    case 'bigint':
      return fault('UNSAFE_NUMBER', 'is a bigint')
    case 'function':
    case 'symbol':
      return fault('not_json', `is a ${typeof value}`)
    case 'object':
      if (value === null) return undefined
      if (depth === LIMITS.jsonDepth)
        return fault('too_deep', `is nested more than ${LIMITS.jsonDepth} levels deep`)
      return Array.isArray(value) ? inspectArray(value, walk, depth) : inspectObject(value, walk, depth)
    default:
      return undefined
  }
}

function inspectArray(array: readonly unknown[], walk: Walk, depth: number): Found | undefined {
  walk.left -= array.length
  if (walk.left < 0) return fault('too_large', '')
  for (let i = 0; i < array.length; i++) {
    const found = inspect(array[i], i, walk, depth + 1)
    if (found) return inside(found, array, i)
  }
  return undefined
}

function inspectObject(object: object, walk: Walk, depth: number): Found | undefined {
  const keys = Object.keys(object)
  if (keys.length === 0 && !isPlain(object)) {
    // A Map, a Set, an Error, a promise that was not awaited.
    const className = object.constructor?.name || 'an unnamed class'
    return fault('not_json', `is an instance of ${className}, which JSON would turn into {}`)
  }
  walk.left -= keys.length
  if (walk.left < 0) return fault('too_large', '')
  for (const key of keys) {
    if (key === '__proto__')
      return fault('not_json', 'has a property "__proto__", which replaces the prototype of a copy')
    if (!isStorableText(key))
      return fault('INVALID_TEXT', `has a property ${quote(key)}, which ${textFault(key)}`)
    const found = inspect((object as Record<string, unknown>)[key], key, walk, depth + 1)
    if (found) return inside(found, object, key)
  }
  return undefined
}

/** Made by a literal, JSON.parse or Object.create(null), in this realm or another. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
