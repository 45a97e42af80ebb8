import type { z } from 'zod'
import { OncueError } from '../errors.ts'

type Schema = z.core.$ZodType

/** Types of zod whose values JSON does not have, and what to write instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  date: 'Use z.coerce.date<string>(), which parses a string into a Date, or z.iso.datetime().',
  bigint: 'Use z.string().transform(BigInt), or a number up to 2^53 - 1.',
  map: 'Use z.record(…), or an array of pairs.',
  set: 'Use z.array(…).',
  nan: 'Use z.null() where there is no number.',
  symbol: 'Use z.string() or z.literal(…).',
  file: 'Store the file elsewhere and send a reference to it.',
  promise: 'Await it first, and describe its result.',
  function: 'Send data; code belongs in the handler.',
  undefined: 'Omit the property, or use .optional().',
  void: 'Omit the property, or use .optional().',
}

interface Impossible {
  readonly type: string
  readonly path: string
}

/**
 * Refuses a schema with a required value that JSON cannot hold: every job of it would be refused or fail. A union
 * needs one alternative that JSON can hold. A transform is checked by its input. At the top,
 * undefined is stored as null.
 */
export function assertPossible(schema: Schema, name: string): void {
  if (isNothing(schema)) return
  const found = find(schema, `job.${name}`, new Map())
  if (!found) return
  throw new OncueError('INVALID_INPUT', `${found.path} is z.${found.type}(), which JSON cannot represent`, {
    hint: INSTEAD[found.type],
  })
}

/** The result for each schema. One that refers to itself counts as possible until it has been checked. */
type Seen = Map<Schema, Impossible | undefined>

function find(schema: Schema, path: string, seen: Seen): Impossible | undefined {
  if (seen.has(schema)) return seen.get(schema)
  seen.set(schema, undefined)
  const found = look(schema, path, seen)
  seen.set(schema, found)
  return found
}

function look(schema: Schema, path: string, seen: Seen): Impossible | undefined {
  // The types of zod's own classes narrow by `def.type`.
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  switch (def.type) {
    case 'date':
    case 'bigint':
      return 'coerce' in def && def.coerce ? undefined : { type: def.type, path }
    case 'map':
    case 'set':
    case 'nan':
    case 'symbol':
    case 'file':
    case 'promise':
    case 'function':
    case 'undefined':
    case 'void':
      return { type: def.type, path }
    case 'literal':
      return def.values.every((value) => typeof value === 'bigint') ? { type: 'bigint', path } : undefined
    case 'object':
      return findInObject(def, path, seen)
    case 'array':
      return find(def.element, `${path}[]`, seen)
    case 'tuple':
      return first([...def.items, ...(def.rest ? [def.rest] : [])], (item, i) =>
        find(item, `${path}[${i}]`, seen),
      )
    case 'record':
      return find(def.valueType, `${path}[…]`, seen)
    case 'intersection':
      return find(def.left, path, seen) ?? find(def.right, path, seen)
    case 'union':
      return findInUnion(def.options, path, seen)
    case 'optional':
      return isNothing(def.innerType) ? undefined : find(def.innerType, path, seen)
    case 'nullable':
    case 'nonoptional':
    case 'readonly':
      return find(def.innerType, path, seen)
    case 'pipe':
      return find(def.in, path, seen)
    case 'lazy':
      return findInLazy(def.getter, path, seen)
    default:
      // Schemas that accept anything, such as a transform, or that need no input, such as a default.
      return undefined
  }
}

const isNothing = ({ _zod }: Schema) => _zod.def.type === 'undefined' || _zod.def.type === 'void'

function findInObject(def: z.core.$ZodObjectDef, path: string, seen: Seen): Impossible | undefined {
  const properties = Object.entries<Schema>(def.shape)
  return (
    first(properties, ([key, property]) => find(property, `${path}.${key}`, seen)) ??
    // z.strictObject() has never here, for properties that need not exist.
    (def.catchall && find(def.catchall, `${path}[…]`, seen))
  )
}

/** Allowing null or undefined as well does not make a date possible. */
function findInUnion(options: readonly Schema[], path: string, seen: Seen): Impossible | undefined {
  const found = options
    .filter((option) => option._zod.def.type !== 'null' && !isNothing(option))
    .map((option) => find(option, path, seen))
  return found.every((one) => one !== undefined) ? found[0] : undefined
}

/** A schema that refers to one defined further down cannot be checked yet. */
function findInLazy(getter: () => Schema, path: string, seen: Seen): Impossible | undefined {
  let inner: Schema
  try {
    inner = getter()
  } catch {
    return undefined
  }
  return find(inner, path, seen)
}

function first<Item, Found>(
  items: readonly Item[],
  findIn: (item: Item, index: number) => Found | undefined,
): Found | undefined {
  for (const [index, item] of items.entries()) {
    const found = findIn(item, index)
    if (found !== undefined) return found
  }
  return undefined
}
