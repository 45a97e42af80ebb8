import { z } from 'zod'
import { OncueError } from '../errors.ts'
import { assertTopic, listed } from '../job/names.ts'
import { quote } from '../job/text.ts'
import type { HandlerOf, JobContext, RunningJob } from './context.ts'
import { type JobDefinition, type JobDefinitions, job, type PayloadOf, type ResultOf } from './jobs.ts'
import type { NoTransactions, Transactions } from './transactions.ts'

/** A handler whose types were checked where it is defined. */
export type AnyHandler = (job: RunningJob, ctx: JobContext) => unknown

/** Handlers without definitions: payloads are not checked, and all options have their defaults. */
export type PlainWorkers = Readonly<Record<string, AnyHandler>>

/**
 * Some of the topics or all: different worker processes may serve different ones. Over the definitions themselves, so that
 * an editor shows at a handler what is written over its definition.
 */
export type Handlers<Jobs extends JobDefinitions, Given = NoTransactions> = {
  readonly [Topic in keyof Jobs]?:
    | HandlerOf<
        Topic & string,
        PayloadOf<Jobs, Topic & string>,
        ResultOf<Jobs, Topic & string>,
        JobContext<Jobs, Topic & string, Given>
      >
    | undefined
}

/** A handler with its definition. */
export interface Worker {
  readonly definition: JobDefinition
  readonly handler: AnyHandler
  /** For its `ctx.commit` and `ctx.complete`. */
  readonly transactions?: Transactions | undefined
}

/** What a worker module exports as `workers`. */
export interface Workers {
  readonly [WORKERS]: ReadonlyMap<string, Worker>
}

/** A registered symbol, so that a worker recognises the workers of a module with its own copy of core. */
const WORKERS: unique symbol = Symbol.for('oncue.workers')

/** A handler for each topic. */
export type AllHandlers<Jobs extends JobDefinitions, Given = NoTransactions> = {
  readonly [Topic in keyof Jobs]: NonNullable<Handlers<Jobs, Given>[Topic]>
}

/** The topics whose handlers must not be left out. */
type Required<Jobs extends JobDefinitions, Complete> = Complete extends true
  ? { readonly [Topic in keyof Jobs]: object }
  : unknown

/**
 * Joins definitions and handlers. A handler for a topic that is not defined is an error; with `complete: true`
 * a topic without a handler is one too, for the compiler and when the module is loaded.
 *
 * `NoInfer`, so that the compiler knows the jobs when it looks at what a handler returns: otherwise it takes `'paid'` for
 * a `string`, which no `z.enum` or `z.literal` accepts.
 */
export function defineWorkers<
  Jobs extends JobDefinitions,
  Given extends Transactions | NoTransactions = NoTransactions,
  Complete extends boolean = false,
>(
  jobs: Jobs,
  handlers: NoInfer<Handlers<Jobs, Given>> & Required<NoInfer<Jobs>, Complete>,
  options?: {
    /** True: a topic without a handler is an error. */
    readonly complete?: Complete
    /** For `ctx.commit` and `ctx.complete`: `transactionsOf({ prisma })`, of the database that the worker runs on. */
    readonly transactions?: Given
  },
): Workers {
  const { transactions } = options ?? {}
  const workers = new Map<string, Worker>()
  for (const [topic, handler] of Object.entries<unknown>(handlers)) {
    if (handler === undefined) continue
    const definition = Object.hasOwn(jobs, topic) ? jobs[topic] : undefined
    if (!definition) {
      const there = `there are ${listed(Object.keys(jobs))}`
      throw new OncueError(
        'UNKNOWN_TOPIC',
        `workers has a handler for ${quote(topic)}, which is not defined in jobs: ${there}`,
      )
    }
    workers.set(topic, { definition, handler: readHandler(handler, topic, 'workers'), transactions })
  }
  const missing = options?.complete ? Object.keys(jobs).filter((topic) => !workers.has(topic)) : []
  if (missing.length > 0)
    throw new OncueError('INVALID_INPUT', `workers has no handler for ${listed(missing)}`, {
      hint: 'Add the handlers, or omit { complete: true } if other workers serve these topics.',
    })
  return { [WORKERS]: workers }
}

/**
 * Reads the `workers` export of a module: from defineWorkers, or a plain object of handlers. `source` names
 * the module in errors.
 */
export function readWorkers(exported: unknown, source = 'workers'): ReadonlyMap<string, Worker> {
  if (typeof exported !== 'object' || exported === null || Array.isArray(exported)) {
    const got = exported === undefined ? 'exports no `workers`' : `exports ${quote(exported)} as \`workers\``
    throw new OncueError('INVALID_INPUT', `${source} ${got}`, { hint: HINT })
  }
  if (WORKERS in exported) return exported[WORKERS] as ReadonlyMap<string, Worker>

  const definition = job({ input: z.unknown() })
  const workers = new Map<string, Worker>()
  for (const [topic, handler] of Object.entries(exported)) {
    assertTopic(topic)
    workers.set(topic, { definition, handler: readHandler(handler, topic, source) })
  }
  return workers
}

const HINT =
  'Write `export const workers = defineWorkers(jobs, { … })`, or a plain object of topic: async (job, ctx) => result.'

function readHandler(handler: unknown, topic: string, source: string): AnyHandler {
  if (typeof handler === 'function') return handler as AnyHandler
  throw new OncueError(
    'INVALID_INPUT',
    `${source}: the handler of ${quote(topic)} must be a function, not ${quote(handler)}`,
    {
      hint: HINT,
    },
  )
}
