import { changeAt, decodeDates, encodeDates, OncueError } from '@oncue/core'

type Wrapped = { readonly json: unknown; readonly meta?: unknown }

/** Twenty for each job of the largest batch: a date, and options that are undefined. */
const MAX_MARKS = 20_000

const REVIVE: Readonly<Record<string, (value: unknown) => unknown>> = {
  Date: (value) => (typeof value === 'string' ? new Date(value) : value),
  undefined: () => undefined,
}

/**
 * The part of superjson that our inputs and answers need: dates, and values that are undefined. superjson itself
 * would build whatever a request names, such as an array of a hundred million zeros or a Set in quadratic time.
 */
export const transformer = {
  input: { serialize: encodeDates, deserialize: readInput },
  output: { serialize: encodeDates, deserialize: decodeDates },
}

/** Takes time in proportion to the size of the input. */
function readInput(value: unknown): unknown {
  if (!isWrapped(value)) {
    const message = 'input must be an object with the field json, as superjson writes it'
    throw new OncueError('INVALID_INPUT', message, {
      hint: 'Use a tRPC client, send {"json": …}, or use REST: see /docs.',
    })
  }
  const { json, meta } = value
  if (meta === undefined) return json
  if (!isRecord(meta)) throw wrongMeta('must be an object')
  for (const name of Object.keys(meta))
    if (name !== 'values' && name !== 'v') throw wrongMeta(`has ${JSON.stringify(name.slice(0, 40))}`)
  const { values } = meta
  if (values === undefined) return json
  if (Array.isArray(values)) return reviverOf(values)(json)
  if (!isRecord(values)) throw wrongMeta('must have the types of values by their paths')
  const marks = Object.entries(values)
  if (marks.length > MAX_MARKS) throw wrongMeta(`marks ${marks.length} values, more than ${MAX_MARKS}`)
  for (const [path, mark] of marks)
    if (!changeAt(json, path, reviverOf(mark))) throw wrongMeta('marks a value that is not there')
  return json
}

function reviverOf(mark: unknown): (value: unknown) => unknown {
  const name: unknown = Array.isArray(mark) && mark.length === 1 ? mark[0] : undefined
  const revive = typeof name === 'string' && Object.hasOwn(REVIVE, name) ? REVIVE[name] : undefined
  if (!revive) throw wrongMeta('marks a value as neither Date nor undefined')
  return revive
}

function wrongMeta(what: string): OncueError {
  return new OncueError('INVALID_INPUT', `input.meta ${what}`, {
    hint: 'Of what superjson writes, the API reads dates and undefined. Send no other types, and no object twice.',
  })
}

function isWrapped(value: unknown): value is Wrapped {
  return isRecord(value) && Object.hasOwn(value, 'json')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
