import { encodeDates, OncueError } from '@oncue/core'
import superjson from 'superjson'

type Wrapped = { readonly json: unknown; readonly meta?: unknown }

/** Far more than any input of ours has, far below what overflows the stack of those who walk it. */
const MAX_DEPTH = 500

/** superjson; but what it would only copy is taken as it is, and what would overflow its stack is refused. */
export const transformer = {
  input: {
    serialize: superjson.serialize,
    deserialize(value: unknown): unknown {
      if (!isWrapped(value)) {
        const message = 'input must be an object with the field json, as superjson writes it'
        throw new OncueError('INVALID_INPUT', message, {
          hint: 'Use a tRPC client, send {"json": …}, or use REST: see /docs.',
        })
      }
      if (value.meta === undefined) return value.json
      assertHarmless(value)
      try {
        return superjson.deserialize(value as Parameters<typeof superjson.deserialize>[0])
      } catch (cause) {
        throw new OncueError('INVALID_INPUT', 'input.meta is not what superjson writes', { cause })
      }
    },
  },
  output: { serialize: encodeDates, deserialize: superjson.deserialize },
}

function isWrapped(value: unknown): value is Wrapped {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'json')
}

function assertHarmless(value: unknown): void {
  const left: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }]
  for (let next = left.pop(); next; next = left.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue
    if (next.depth > MAX_DEPTH) throw new OncueError('INVALID_INPUT', 'input is nested too deeply')
    // superjson would make it the prototype of its copy, and no schema would see it.
    if (Object.hasOwn(next.value, '__proto__'))
      throw new OncueError('INVALID_INPUT', 'input has a property "__proto__"')
    for (const inner of Object.values(next.value)) left.push({ value: inner, depth: next.depth + 1 })
  }
}
