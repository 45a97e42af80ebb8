/** One place in which two values differ. What is not there has no `before`, or no `after`. */
export type JsonChange = {
  readonly path: readonly (string | number)[]
  readonly before?: unknown
  readonly after?: unknown
}

export type JsonDiff = {
  readonly changes: readonly JsonChange[]
  /** How many more places there are. */
  readonly more: number
}

/** Where two plain JSON values differ: the first `limit` places, as deep as both have the same kind of value. */
export function diffJson(before: unknown, after: unknown, limit = 100): JsonDiff {
  const changes: JsonChange[] = []
  let more = 0
  const add = (change: JsonChange) => {
    if (changes.length < limit) changes.push(change)
    else more++
  }
  const walk = (path: readonly (string | number)[], one: unknown, other: unknown) => {
    if (Object.is(one, other)) return
    const [left, right] = [entriesOf(one), entriesOf(other)]
    if (!left || !right || Array.isArray(one) !== Array.isArray(other)) {
      add({ path, before: one, after: other })
      return
    }
    for (const [key, value] of left) {
      if (right.has(key)) walk([...path, key], value, right.get(key))
      else add({ path: [...path, key], before: value })
    }
    for (const [key, value] of right) if (!left.has(key)) add({ path: [...path, key], after: value })
  }
  walk([], before, after)
  return { changes, more }
}

function entriesOf(value: unknown): Map<string | number, unknown> | null {
  if (typeof value !== 'object' || value === null) return null
  return Array.isArray(value) ? new Map(value.entries()) : new Map(Object.entries(value))
}
