import { z } from 'zod'
import { OncueError } from '../errors.ts'
import { type SchemaIssues, toSchemaError } from './input-error.ts'
import { encodeJson } from './json.ts'
import { acceptsAnything, isZod, type OutputOfSchema, type Schema } from './schema.ts'

/**
 * Checks a payload against the input schema of its topic and returns what the handler gets. `payload` must
 * be a value from JSON, so that a schema sees the same in the producer and in the worker.
 */
export function parsePayload<Input extends Schema>(
  schema: Input,
  payload: unknown,
  topic: string,
): OutputOfSchema<Input> {
  return parse(schema, payload, 'payload', topic)
}

/**
 * Checks a result against the output schema of its topic: in the worker before it is stored, and in the client that
 * waits for it. Only the latter uses the returned value; the stored result is what the handler returned, or the
 * schema's transforms would be applied twice. Like a payload, `result` must be a value from JSON.
 */
export function parseResult<Output extends Schema>(
  schema: Output,
  result: unknown,
  topic: string,
): OutputOfSchema<Output> {
  return parse(schema, result, 'result', topic)
}

/** Checks the data of a signal: in the sender before it is stored, and in the worker that delivers it. */
export function parseSignal<Data extends Schema>(
  schema: Data,
  data: unknown,
  topic: string,
): OutputOfSchema<Data> {
  return parse(schema, data, 'signal', topic)
}

/** The JSON of a run's progress, checked against the progress schema of its topic. As with a result, it is stored as given. */
export function encodeProgress(schema: Schema, progress: unknown, topic: string): string {
  const text = encodeJson(progress, 'progress')
  if (!acceptsAnything(schema)) parse(schema, JSON.parse(text), 'progress', topic)
  return text
}

/** As those get it who watch. Null: there is none, or it does not fit, because it is masked or of another version of the code. */
export function parseProgress<Progress extends Schema>(
  schema: Progress,
  progress: unknown,
): OutputOfSchema<Progress> | null {
  try {
    const checked = check(schema, progress)
    return checked.success ? (checked.data as OutputOfSchema<Progress>) : null
  } catch {
    return null
  }
}

/** Checks a person's answer, in the worker whose handler asked. */
export function parseAnswer<Answer extends Schema>(
  schema: Answer,
  value: unknown,
  topic: string,
): OutputOfSchema<Answer> {
  return parse(schema, value, 'answer', topic)
}

/** Whether the schema accepts this value; false if it throws, or is asynchronous. */
export function accepts(schema: Schema, value: unknown): boolean {
  try {
    return check(schema, value).success
  } catch {
    return false
  }
}

function parse<S extends Schema>(
  schema: S,
  value: unknown,
  what: 'payload' | 'result' | 'signal' | 'progress' | 'answer',
  topic: string,
): OutputOfSchema<S> {
  let checked: Checked
  try {
    checked = check(schema, value)
    // JSON has no undefined: it is stored as null. A schema that accepts null gets it; z.void() and .optional() do
    // not.
    const asUndefined = value === null && !checked.success ? check(schema, undefined) : undefined
    if (asUndefined?.success) checked = asUndefined
  } catch (cause) {
    if (!(cause instanceof z.core.$ZodAsyncError)) throw cause
    const message = `the ${what} schema of ${topic} is asynchronous; move the asynchronous part into the handler`
    throw new OncueError('INVALID_INPUT', message, { cause })
  }
  // The schema made it; the compiler cannot know that.
  if (checked.success) return checked.data as OutputOfSchema<S>
  throw toSchemaError(checked.error, what, topic)
}

type Checked =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: SchemaIssues }

function check(schema: Schema, value: unknown): Checked {
  // Not by its Standard Schema: zod's own issues say more of unions.
  if (isZod(schema)) return z.safeParse(schema, value)
  const result = schema['~standard'].validate(value)
  if (result instanceof Promise) {
    // No caller waits for it: without this its failure would end the process.
    result.catch(() => {})
    throw new z.core.$ZodAsyncError()
  }
  return result.issues ? { success: false, error: result } : { success: true, data: result.value }
}
