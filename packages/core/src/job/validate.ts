import { z } from 'zod'
import { OncueError } from '../errors.ts'
import { toSchemaError } from './input-error.ts'

/**
 * Checks a payload against the input schema of its topic and returns what the handler gets. `payload` must
 * be a value from JSON, so that a schema sees the same in the producer and in the worker.
 */
export function parsePayload<Input extends z.core.$ZodType>(
  schema: Input,
  payload: unknown,
  topic: string,
): z.output<Input> {
  return parse(schema, payload, 'payload', topic)
}

/**
 * Checks a result against the output schema of its topic: in the worker before it is stored, and in the client that
 * waits for it. Only the latter uses the returned value; the stored result is what the handler returned, or the
 * schema's transforms would be applied twice. Like a payload, `result` must be a value from JSON.
 */
export function parseResult<Output extends z.core.$ZodType>(
  schema: Output,
  result: unknown,
  topic: string,
): z.output<Output> {
  return parse(schema, result, 'result', topic)
}

/** Whether the schema accepts this value; false if it throws, or is asynchronous. */
export function accepts(schema: z.core.$ZodType, value: unknown): boolean {
  try {
    return z.safeParse(schema, value).success
  } catch {
    return false
  }
}

function parse<Schema extends z.core.$ZodType>(
  schema: Schema,
  value: unknown,
  what: 'payload' | 'result',
  topic: string,
): z.output<Schema> {
  let parsed: z.ZodSafeParseResult<z.output<Schema>>
  try {
    parsed = z.safeParse(schema, value)
    // JSON has no undefined: it is stored as null. A schema that accepts null gets it; z.void() and .optional() do
    // not.
    const asUndefined = value === null && !parsed.success ? z.safeParse(schema, undefined) : undefined
    if (asUndefined?.success) parsed = asUndefined
  } catch (cause) {
    if (!(cause instanceof z.core.$ZodAsyncError)) throw cause
    const message = `the ${what} schema of ${topic} is asynchronous; move the asynchronous part into the handler`
    throw new OncueError('INVALID_INPUT', message, { cause })
  }
  if (parsed.success) return parsed.data
  throw toSchemaError(parsed.error, what, topic)
}
