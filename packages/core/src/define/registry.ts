import { z } from 'zod'
import { OncueError } from '../errors.ts'
import { accepts } from '../job/validate.ts'
import { type PlainWorkers, readWorkers, type Worker, type Workers } from './workers.ts'

type JsonSchema = Readonly<Record<string, unknown>>

/** What a worker announces about a topic: enough for a form, a document and a debug view. */
export interface TopicDescription {
  readonly topic: string
  /** JSON Schema of what producers send. */
  readonly input: JsonSchema
  /** JSON Schema of what `wait` returns. */
  readonly output: JsonSchema
  readonly queue: string | undefined
  readonly priority: number | undefined
  readonly timeoutMs: number | undefined
  readonly maxRetries: number | undefined
  readonly retry: Worker['definition']['retry']
  readonly schedule: Worker['definition']['schedule']
  readonly isolate: Worker['definition']['isolate']
}

/** Everything one worker process can run. */
export interface Registry {
  get(topic: string): Worker | undefined
  topics(): string[]
  describe(): TopicDescription[]
}

export function toRegistry(...sources: readonly (Workers | PlainWorkers)[]): Registry {
  const byTopic = new Map<string, Worker>()
  for (const source of sources) {
    for (const [topic, worker] of readWorkers(source)) {
      if (byTopic.has(topic)) throw new OncueError('INVALID_INPUT', `two handlers for the topic "${topic}"`)
      byTopic.set(topic, worker)
    }
  }
  return {
    get: (topic) => byTopic.get(topic),
    topics: () => [...byTopic.keys()],
    describe: () => [...byTopic].map(([topic, { definition }]) => describeTopic(topic, definition)),
  }
}

function describeTopic(topic: string, definition: Worker['definition']): TopicDescription {
  const { input, output, queue, priority, timeoutMs, maxRetries, retry, isolate, schedule } = definition
  return {
    topic,
    input: toJsonSchema(input, 'input'),
    output: toJsonSchema(output, 'output'),
    queue,
    priority,
    timeoutMs,
    maxRetries,
    retry,
    isolate,
    schedule,
  }
}

/** What JSON Schema cannot express becomes `{}`, which accepts anything: a description must not stop a worker. */
function toJsonSchema(schema: z.core.$ZodType, io: 'input' | 'output'): JsonSchema {
  // JSON Schema cannot express undefined, and a missing value is stored as null.
  const { type } = schema._zod.def
  if (type === 'void' || type === 'undefined') return { type: 'null' }
  try {
    const params = { io, unrepresentable: 'any', ...(io === 'input' && { override: loosen }) } as const
    const described = z.toJSONSchema(schema, params)
    // A missing value is stored as null.
    return accepts(schema, undefined) ? orNull(described) : described
  } catch {
    return {}
  }
}

/** Definitions stay at the root, where references look for them. */
function orNull({ $schema, $defs, ...described }: JsonSchema): JsonSchema {
  const head = { ...($schema !== undefined && { $schema }), ...($defs !== undefined && { $defs }) }
  if (Object.keys(described).length === 0) return head
  return { ...head, anyOf: [described, { type: 'null' }] }
}

type Converted = Parameters<NonNullable<z.core.ToJSONSchemaParams['override']>>[0]

/**
 * Removes from a description what would refuse a payload that the schema itself accepts: zod describes the value
 * after a coercion, and the API refuses by the description.
 */
function loosen({ zodSchema, jsonSchema }: Converted): void {
  const { def } = zodSchema._zod
  const takesAnything =
    ('coerce' in def && def.coerce === true) ||
    def.type === 'catch' ||
    (def.type === 'pipe' && def.in._zod.def.type === 'transform')
  const checks = (def.checks ?? []).map((check) => check._zod.def)
  if (takesAnything) keepOnly(jsonSchema)
  // A trim, for example, comes before the length is checked.
  else if (checks.some(({ check }) => check === 'overwrite')) keepOnly(jsonSchema, 'type')
  else if ([def, ...checks].some(hasFlags)) {
    delete jsonSchema.pattern
    delete jsonSchema.allOf
  }
}

function keepOnly(jsonSchema: Converted['jsonSchema'], ...kept: string[]): void {
  for (const key of Object.keys(jsonSchema)) if (!kept.includes(key)) delete jsonSchema[key]
}

/** JSON Schema has no flags for patterns: /a/i would refuse an A. */
function hasFlags(def: object): boolean {
  return 'pattern' in def && def.pattern instanceof RegExp && /[ims]/.test(def.pattern.flags)
}
