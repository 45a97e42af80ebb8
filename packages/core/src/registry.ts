import { z } from 'zod'
import { type PlainWorkers, readWorkers, type Worker, type Workers } from './define-workers.ts'
import { OncueError } from './errors.ts'

type JsonSchema = Readonly<Record<string, unknown>>

/** What a worker announces about a topic: enough for a form, a document and a debug view. */
export interface TopicDescription {
  readonly topic: string
  /** Of what producers send. */
  readonly input: JsonSchema
  /** Of what `wait` gives. */
  readonly output: JsonSchema
  readonly queue: string | undefined
  readonly priority: number | undefined
  readonly timeoutMs: number | undefined
  readonly maxRetries: number | undefined
  readonly retry: Worker['definition']['retry']
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
  const { input, output, queue, priority, timeoutMs, maxRetries, retry } = definition
  return {
    topic,
    input: toJsonSchema(input, 'input'),
    output: toJsonSchema(output, 'output'),
    queue,
    priority,
    timeoutMs,
    maxRetries,
    retry,
  }
}

/** What JSON Schema cannot express is `{}`, anything: a description must not stop a worker. */
function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  try {
    return z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  } catch {
    return {}
  }
}
