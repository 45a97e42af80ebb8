import { LIMITS } from './limits.ts'
import { isStorableText, quote, textFault } from './text.ts'

/** Why a value cannot be stored as JSON, and where in it. */
export type JsonFault =
  | {
      readonly kind: 'not_json' | 'INVALID_TEXT' | 'UNSAFE_NUMBER'
      readonly message: string
      readonly path: readonly PropertyKey[]
    }
  | { readonly kind: 'too_large'; readonly bytes: number }

/**
 * A fault on its way up from where it was found. Each level adds itself, so a value without faults, which
 * is nearly every one, costs neither a path nor a list of ancestors.
 */
interface Found {
  readonly kind: JsonFault['kind'] | 'too_deep'
  readonly message: string
  /** Innermost first. */
  readonly trail: { readonly container: object; readonly key: string | number }[]
}

interface Walk {
  /** How many more values the walk may see: an object that is shared 2^30 times must not hang it. */
  left: number
}

export function findFault(root: unknown, maxBytes: number): JsonFault | undefined {
  // Every value takes at least a byte, so the size is certainly over the limit before the walk gives up;
  // the factor leaves ordinary oversized values to be measured exactly.
  const walkLimit = 4 * maxBytes
  const found = inspect(root, '', { left: walkLimit }, 0)
  if (!found) return undefined
  if (found.kind === 'too_large') return { kind: 'too_large', bytes: walkLimit }

  const trail = found.trail.reverse()
  const path = trail.map(({ key }) => key)
  if (found.kind !== 'too_deep') return { kind: found.kind, message: found.message, path }

  // Only a walk that went too deep can have met a cycle, so only then is it worth looking for one.
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
  // bigint too: some programs give BigInt.prototype a toJSON, and JSON.stringify heeds it.
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

/** As `inspect`, for what JSON.stringify would really write: it asks for `toJSON` only once. */
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
    // A Map, a Set, an Error, a promise nobody awaited.
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
