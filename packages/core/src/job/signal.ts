import type { JobDefinition } from '../define/jobs.ts'
import { OncueError } from '../errors.ts'
import { encodeJson } from './json.ts'
import type { Schema } from './schema.ts'
import { quote } from './text.ts'
import { parseSignal } from './validate.ts'

/** The schema of a signal; UNKNOWN_SIGNAL if the topic has none of that name. */
export function signalSchema(
  { signals }: Pick<JobDefinition, 'signals'>,
  name: string,
  topic: string,
): Schema {
  const schema = Object.hasOwn(signals, name) ? signals[name] : undefined
  if (schema) return schema
  const known = Object.keys(signals)
  const there = known.length > 0 ? `it has ${known.map(quote).join(', ')}` : 'it has none'
  throw new OncueError('UNKNOWN_SIGNAL', `${topic} has no signal ${quote(name)}: ${there}`)
}

/** The JSON of a signal's data. */
export function encodeSignal(data: unknown): string {
  return encodeJson(data, 'signal')
}

/** The JSON of a person's answer. */
export function encodeAnswer(value: unknown): string {
  return encodeJson(value, 'answer')
}

/** Checks a signal against the definition of its topic. */
export function checkSignal(definition: JobDefinition, topic: string, name: string, text: string): void {
  parseSignal(signalSchema(definition, name, topic), JSON.parse(text), topic)
}
