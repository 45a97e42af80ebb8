import { formatPath } from '@oncue/core/internal'

export const MASK = '[masked]'

/** The most paths that a response names. Further values are masked without being named. */
const MAX_PATHS = 1_000
const MAX_KNOWN = 10_000

type Masked<Value> = {
  readonly value: Value
  /** Where something was masked: `payload.user.password`. */
  readonly masked: string[]
  /** Where the mask itself stood instead of a value. */
  readonly copied: string[]
}

/** Masks some fields of a value, at any depth. */
export type Mask = <Value extends object>(
  value: Value,
  fields: readonly (keyof Value & string)[],
) => Masked<Value>

export const maskNothing: Mask = (value) => ({ value, masked: [], copied: [] })

/**
 * Replaces the values of matching keys. A key matches when its words contain those of one of `keys`, in any spelling:
 * `api_key` finds `apiKey`, `X-Api-Key` and `stripe_apikey`, and `token` does not find `max_tokens`. Values are not
 * inspected: a secret within a plain text stays.
 */
export function createMask(keys: readonly string[]): Mask {
  const wanted = new Set(keys.map((key) => wordsOf(key).join('')))
  const known = new Map<string, boolean>()

  function matches(key: string): boolean {
    const answer = known.get(key)
    if (answer !== undefined) return answer
    if (known.size >= MAX_KNOWN) known.clear()
    const isWanted = runsOf(wordsOf(key)).some((run) => wanted.has(run))
    known.set(key, isWanted)
    return isWanted
  }

  /** Copies only what it changes. */
  function walk(
    value: unknown,
    path: readonly (string | number)[],
    found: Omit<Masked<unknown>, 'value'>,
  ): unknown {
    if (!isContainer(value)) return value
    let isChanged = false
    const visit = (key: string | number, inner: unknown) => {
      const here = [...path, key]
      const isHit = typeof key === 'string' && isTelling(inner) && matches(key)
      const paths = inner === MASK ? found.copied : found.masked
      if (isHit && paths.length < MAX_PATHS) paths.push(formatPath(String(here[0]), here.slice(1)))
      const result = isHit ? MASK : walk(inner, here, found)
      isChanged ||= result !== inner
      return result
    }
    if (Array.isArray(value)) {
      const items = value.map((inner, n) => visit(n, inner))
      return isChanged ? items : value
    }
    // From entries, so that a key like __proto__ stays a key.
    const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(key, inner)]))
    return isChanged ? copy : value
  }

  return (value, fields) => {
    const found = { masked: [], copied: [] }
    const changed = fields.map((field) => [field, walk(value[field], [field], found)])
    return { value: { ...value, ...Object.fromEntries(changed) }, ...found }
  }
}

/** `password: null` and `password_changed: true` give nothing away, and are worth seeing. */
const isTelling = (value: unknown) => value !== null && typeof value !== 'boolean'

/** Arrays and plain objects. A Date is a value. */
function isContainer(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** `userAPIKey2` → user, api, key, 2 */
function wordsOf(key: string): string[] {
  return key
    .slice(0, 256)
    .replace(/(\p{Ll}|\d)(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})|(\p{L})(?=\d)|(\d)(?=\p{L})/gu, '$& ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
}

/** All runs of adjacent words. */
function runsOf(words: readonly string[]): string[] {
  return words.flatMap((_, from) => words.slice(from).map((_, n) => words.slice(from, from + n + 1).join('')))
}
