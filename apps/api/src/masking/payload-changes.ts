import { formatPath } from '@oncue/core/internal'
import type { JsonChange } from '@oncue/core/wire'
import type { JobEvent } from '@oncue/db'
import { formatCount } from '../health/format.ts'
import { MASK, type Mask, maskNothing } from './masking.ts'

const ROOT = 'payload'

/** Characters that a kept path, and the JSON of a kept value, may have. */
const MAX_TEXT = 200

/**
 * The changes of a payload as the audit keeps them: short, and without what only admins see. Paths stay lists of keys,
 * and what is too long leaves only its size, so that `showChanges` can mask keys that are masked later.
 */
export function keptChanges(mask: Mask, changes: readonly JsonChange[]): JsonChange[] {
  return distinct(changes.map((change) => shorten(maskChange(mask, change))))
}

/** What `keptChanges` kept, as a caller sees it. */
export function showChanges(mask: Mask, kept: readonly unknown[]): unknown[] {
  return distinct(
    kept.map((change) => {
      if (!isChange(change)) return change
      const { path, ...sides } = maskChange(mask, change)
      return { path: formatPath(ROOT, path), ...sides }
    }),
  )
}

/** A job's event as a caller sees it: keys that are masked since it was written hide the keys within their values. */
export function showEvent<Event extends Pick<JobEvent, 'type' | 'data'>>(mask: Mask, event: Event): Event {
  const { type, data } = event
  if (mask === maskNothing || type !== 'payload_changed' || !hasPaths(data)) return event
  return { ...event, data: { ...data, paths: distinct(data.paths.map((path) => showPath(mask, path))) } }
}

/** A key in the notation of `formatPath`: `.name`, `[0]` or `["another name"]`. */
const KEY = /\.(?<name>[A-Za-z_$][\w$]*)|\[\d+\]|\[(?<quoted>"(?:[^"\\]|\\.)*")\]/gy

/** Ends at the first masked key, and where keys were left out: a masked one may be among them. */
function showPath(mask: Mask, path: unknown): unknown {
  if (typeof path !== 'string' || !path.startsWith(ROOT)) return path
  let shown = ROOT
  for (const { 0: text, groups } of path.slice(ROOT.length).matchAll(KEY)) {
    const key: unknown = groups?.quoted ? JSON.parse(groups.quoted) : groups?.name
    if (typeof key === 'string' && key.endsWith('…')) break
    shown += text
    if (typeof key === 'string' && isMasked(mask, key)) return shown
  }
  return shown === path ? path : `${shown}.…`
}

/** Where something changed: `payload.user.name`. */
export function pathsOf(changes: readonly JsonChange[]): string[] {
  return distinct(changes.map(({ path }) => formatPath(ROOT, path)))
}

/** The keys within a masked value are as secret as the value: the path ends at the first masked key. */
function maskChange(mask: Mask, { path, ...sides }: JsonChange): JsonChange {
  const hidden = path.slice(0, -1).findIndex((key) => isMasked(mask, key))
  // Both payloads have a value there: otherwise nothing within it would have been compared.
  if (hidden !== -1) return { path: path.slice(0, hidden + 1), before: MASK, after: MASK }
  return { path, ...mapSides(sides, (value) => maskAt(mask, path.at(-1), value)) }
}

const isMasked = (mask: Mask, key: string | number) => maskAt(mask, key, {}) === MASK

/** A value as the mask leaves it under this key. */
function maskAt(mask: Mask, key: string | number | undefined, value: unknown): unknown {
  if (typeof key !== 'string') return mask({ value }, ['value']).value.value
  const parent: Record<string, unknown> = { [key]: value }
  return mask({ parent }, ['parent']).value.parent[key]
}

/** Without its last keys, a value cannot be masked later: then it is not kept either. */
function shorten({ path, ...sides }: JsonChange): JsonChange {
  const end = path.findIndex((_, n) => JSON.stringify(path.slice(0, n + 1)).length > MAX_TEXT)
  if (end !== -1) return { path: [...path.slice(0, end), '…'], ...mapSides(sides, sizeOf) }
  return { path, ...mapSides(sides, (value) => (jsonOf(value).length > MAX_TEXT ? sizeOf(value) : value)) }
}

const sizeOf = (value: unknown) => `… (${formatCount(Buffer.byteLength(jsonOf(value)), 'byte')})`

const jsonOf = (value: unknown) => JSON.stringify(value) ?? ''

function mapSides(sides: Omit<JsonChange, 'path'>, map: (value: unknown) => unknown): typeof sides {
  return Object.fromEntries(Object.entries(sides).map(([side, value]) => [side, map(value)]))
}

function distinct<Value>(values: readonly Value[]): Value[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()]
}

function isChange(value: unknown): value is JsonChange {
  return typeof value === 'object' && value !== null && 'path' in value && Array.isArray(value.path)
}

function hasPaths(data: unknown): data is { readonly paths: readonly unknown[] } {
  return typeof data === 'object' && data !== null && 'paths' in data && Array.isArray(data.paths)
}
