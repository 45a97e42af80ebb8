import { z } from 'zod'
import { OncueError } from '../errors.ts'
import { isZod, type Schema, type StandardSchema } from '../job/schema.ts'
import { accepts } from '../job/validate.ts'
import type { Transactions } from './transactions.ts'
import { type PlainWorkers, readWorkers, type Worker, type Workers } from './workers.ts'

type JsonSchema = Readonly<Record<string, unknown>>

/** What a worker announces about a topic: enough for a form, a document and a debug view. */
export interface TopicDescription {
  readonly topic: string
  /** JSON Schema of what producers send. */
  readonly input: JsonSchema
  /** JSON Schema of what `wait` returns. */
  readonly output: JsonSchema
  /** JSON Schemas of what senders of signals send, by name; absent: the topic has none. */
  readonly signals?: Readonly<Record<string, JsonSchema>>
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
  /** What `ctx.commit` of these workers writes through. */
  transactions(): Transactions[]
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
    transactions: () => [...new Set([...byTopic.values()].flatMap(({ transactions }) => transactions ?? []))],
    describe: () => [...byTopic].map(([topic, { definition }]) => describeTopic(topic, definition)),
  }
}

function describeTopic(topic: string, definition: Worker['definition']): TopicDescription {
  const { input, output, signals, queue, priority, timeoutMs, maxRetries, retry, isolate, schedule } =
    definition
  return {
    topic,
    input: toJsonSchema(input, 'input'),
    output: toJsonSchema(output, 'output'),
    ...(Object.keys(signals).length > 0 && {
      signals: Object.fromEntries(
        Object.entries(signals).map(([name, schema]) => [name, toJsonSchema(schema, 'input')]),
      ),
    }),
    queue,
    priority,
    timeoutMs,
    maxRetries,
    retry,
    isolate,
    schedule,
  }
}

/** What JSON Schema cannot express, or the library does not convert, becomes `{}`, which accepts anything: a description must not stop a worker. */
export function toJsonSchema(schema: Schema, io: 'input' | 'output'): JsonSchema {
  try {
    const described = isZod(schema) ? fromZod(schema, io) : fromStandard(schema, io)
    if (!described) return {}
    // A missing value is stored as null.
    return described.type !== 'null' && accepts(schema, undefined) ? orNull(described) : described
  } catch {
    return {}
  }
}

function fromZod(schema: z.core.$ZodType, io: 'input' | 'output'): JsonSchema {
  // JSON Schema cannot express undefined, and a missing value is stored as null.
  const { type } = schema._zod.def
  if (type === 'void' || type === 'undefined') return { type: 'null' }
  const params = { io, unrepresentable: 'any', ...(io === 'input' && { override: loosen }) } as const
  return z.toJSONSchema(schema, params)
}

function fromStandard(schema: StandardSchema, io: 'input' | 'output'): JsonSchema | undefined {
  const described = schema['~standard'].jsonSchema?.[io]?.({ target: 'draft-2020-12' })
  return described && (withoutPatterns(described) as JsonSchema)
}

/** ArkType describes /a/i as `a`, and libraries differ about formats: either may refuse what the schema accepts. */
function withoutPatterns(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutPatterns)
  if (typeof node !== 'object' || node === null) return node
  const kept = Object.entries(node).filter(
    // As the name of a property it has an object.
    ([key, value]) => !((key === 'pattern' || key === 'format') && typeof value === 'string'),
  )
  const isData = (key: string) => ['const', 'enum', 'default', 'examples'].includes(key)
  return Object.fromEntries(kept.map(([key, value]) => [key, isData(key) ? value : withoutPatterns(value)]))
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
