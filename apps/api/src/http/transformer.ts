import { OncueError } from '@oncue/core'
import { quote } from '@oncue/core/internal'
import { changeAt, encodeDates, isoDateSchema } from '@oncue/core/wire'
import superjson, { type SuperJSONResult } from 'superjson'

type Wrapped = { readonly json: unknown; readonly meta?: unknown }

/** Twenty for each job of the largest batch: a date, and options that are undefined. */
const MAX_MARKS = 20_000

/**
 * superjson, for dates and undefined values only. It would build anything that a request names, such as an array of
 * a hundred million zeros or a Set in quadratic time, so all other types are refused before it reads the input.
 */
export const transformer = {
  input: { serialize: superjson.serialize, deserialize: readInput },
  output: { serialize: encodeDates, deserialize: superjson.deserialize },
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
  if (Array.isArray(values)) assertMark(values, 'input', json)
  else assertMarks(json, values)
  try {
    // Version 1 reads paths as `changeAt` does; without it superjson would split them as older versions wrote them.
    const checked = { json, meta: { values, v: 1 } } as SuperJSONResult
    return superjson.deserialize(checked, { inPlace: true })
  } catch (cause) {
    throw wrongMeta('is not what superjson writes', cause)
  }
}

/** Every marked value must exist as an own property: superjson would extend a list to the index of any path. */
function assertMarks(json: unknown, values: unknown): void {
  if (!isRecord(values)) throw wrongMeta('must have the types of values by their paths')
  const marks = Object.entries(values)
  if (marks.length > MAX_MARKS) throw wrongMeta(`marks ${marks.length} values, more than ${MAX_MARKS}`)
  for (const [path, mark] of marks) {
    const check = (value: unknown) => {
      assertMark(mark, `input.${path.slice(0, 200)}`, value)
      return value
    }
    if (!changeAt(json, path, check)) throw wrongMeta('marks a value that is not there')
  }
}

function assertMark(mark: unknown, at: string, value: unknown): void {
  const type: unknown = Array.isArray(mark) && mark.length === 1 ? mark[0] : undefined
  if (type === 'Date') assertTime(at, value)
  else if (type !== 'undefined') throw wrongMeta('marks a value as neither Date nor undefined')
}

/** `new Date` would read null, as which an invalid date is sent, as 1970, and "10 feb" as a day of 2001. */
function assertTime(at: string, value: unknown): void {
  const { error } = isoDateSchema.safeParse(value)
  if (!error) return
  const what = error.issues[0]?.message ?? 'must be a date'
  throw new OncueError('INVALID_DATE', `${at} ${what}, got ${quote(value)}`)
}

function wrongMeta(what: string, cause?: unknown): OncueError {
  return new OncueError('INVALID_INPUT', `input.meta ${what}`, {
    cause,
    hint: 'The API reads only dates and undefined from superjson. Send no other types, and no object twice.',
  })
}

function isWrapped(value: unknown): value is Wrapped {
  return isRecord(value) && Object.hasOwn(value, 'json')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
