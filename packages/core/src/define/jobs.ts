import { z } from 'zod'
import { OncueError } from '../errors.ts'
import { jobDefaultsSchema } from '../job/enqueue-options.ts'
import { toInputError } from '../job/input-error.ts'
import { LIMITS } from '../job/limits.ts'
import { assertTopic } from '../job/names.ts'
import { type ErrorClass, type RetryOptions, type RetryPolicy, toRetrySettings } from '../job/retry.ts'
import { type InputOfSchema, isSchema, isZod, type OutputOfSchema, type Schema } from '../job/schema.ts'
import { assertText } from '../job/text.ts'
import { assertPossible } from './impossible-schema.ts'
import { type JobSchedule, readSchedule, type ScheduleConfig } from './schedule.ts'

/** Schemas by the names of signals: the input type is what a sender sends, the output type what `receive` returns. */
export type SignalSchemas = Readonly<Record<string, Schema>>

/** The options of a kind of job. */
export interface JobConfig<
  Input extends Schema,
  Output extends Schema,
  Signals extends SignalSchemas = SignalSchemas,
  Progress extends Schema = Schema,
> extends ScheduleConfig<Input> {
  /** Its input type is what producers send, its output type what the handler gets. */
  readonly input: Input
  /** Its input type is what the handler returns, its output type what `wait` returns. */
  readonly output?: Output | undefined
  /** What can be sent to a running or suspended job, by name: its handler waits for it with `ctx.receive`. */
  readonly signals?: Signals | undefined
  /** Its input type is what the handler gives to `ctx.progress`, its output type what those who watch get. */
  readonly progress?: Progress | undefined
  /** Where its jobs wait. Default: `default`. */
  readonly queue?: string | undefined
  /** Higher runs first within a queue, -32,768 to 32,767. Default: 0. */
  readonly priority?: number | undefined
  /** Milliseconds that a run may take, up to 7 days. Default: 600,000, ten minutes. */
  readonly timeoutMs?: number | undefined
  /**
   * When failed runs are repeated. Default: 3 retries after 1, 4 and 9 minutes. `false` for jobs that must not run
   * twice by themselves, such as orchestrators. `retryOn`: only errors of these classes. Default: every error.
   */
  readonly retry?:
    | false
    | (RetryOptions & { readonly retryOn?: readonly ErrorClass[] | undefined })
    | undefined
  /**
   * `all`: also the start of each run and each call of `ctx.progress` become events of the job, so that `replay` can
   * rebuild its state at any moment. Default: what the job's row does not show. Events live as long as their job.
   */
  readonly events?: 'all' | undefined
  /** Runs in a child process: a timeout can kill it, and its crash fails the job, not the worker. Default: false. */
  readonly isolate?: boolean | Isolation | undefined
}

/** The limits and environment of a child process. */
export interface Isolation {
  /** Megabytes of its JavaScript heap, 32 to 1,048,576; a run that needs more fails. Default: Node's own limit. */
  readonly memoryMb?: number | undefined
  /** Names of environment variables that it gets from the worker, beside those that Node needs. Default: none. */
  readonly env?: readonly string[] | undefined
}

const isolateSchema = z.union([
  z.boolean(),
  z.strictObject({
    memoryMb: z.int().min(32).max(1_048_576).describe('megabytes, from 32 to 1048576').optional(),
    env: z
      .array(z.string().regex(/^[A-Za-z_]\w*$/))
      .max(1_000)
      .describe('names of environment variables')
      .optional(),
  }),
])

/** In addition to what an enqueue may set too. */
const definitionSchema = jobDefaultsSchema.extend({
  isolate: isolateSchema.optional(),
  events: z.literal('all').optional(),
})

/** A checked JobConfig. For undefined options the defaults of Oncue apply. */
export interface JobDefinition<
  Input extends Schema = Schema,
  Output extends Schema = Schema,
  Signals extends SignalSchemas = SignalSchemas,
  Progress extends Schema = Schema,
> {
  readonly input: Input
  readonly output: Output
  readonly signals: Signals
  readonly progress: Progress
  readonly queue: string | undefined
  readonly priority: number | undefined
  readonly timeoutMs: number | undefined
  readonly maxRetries: number | undefined
  readonly retry: RetryPolicy | undefined
  /** Empty: every error is retried. */
  readonly retryOn: readonly ErrorClass[]
  /** Undefined: only what the job's row does not show. */
  readonly events: 'all' | undefined
  /** Undefined: in the process of the worker. */
  readonly isolate: Isolation | undefined
  /** Undefined: it runs only when it is enqueued. */
  readonly schedule: JobSchedule | undefined
}

/**
 * What `job` returns. `Shown` is for people: the types and options of the definition, which editors show first, before the
 * types of its schemas.
 */
export interface DefinedJob<
  Shown,
  Input extends Schema,
  Output extends Schema,
  Signals extends SignalSchemas,
  Progress extends Schema,
> extends JobDefinition<Input, Output, Signals, Progress> {
  readonly [SHOWN]?: Shown
}
declare const SHOWN: unique symbol

/** The types of the signals of a topic that has some. */
type ShownSignals<Signals extends SignalSchemas> = [keyof Signals] extends [never]
  ? never
  : { [Name in keyof Signals]: InputOfSchema<Signals[Name]> }

/** Without the parts that a definition leaves out. `unknown` keeps this name out of what editors show. */
type Shown<Parts> = {
  [Name in keyof Parts as [Parts[Name]] extends [never] ? never : Name]: Parts[Name]
} & unknown

/** Options whose values a definition keeps in its type, for editors. */
interface ShownOptions<Queue, Priority, Timeout, Retry, Cron> {
  readonly queue?: Queue | undefined
  readonly priority?: Priority | undefined
  readonly timeoutMs?: Timeout | undefined
  readonly retry?: Retry | undefined
  readonly cron?: Cron | undefined
}

/** Definitions by topic. */
export type JobDefinitions = Readonly<Record<string, JobDefinition>>

/** The topics of some definitions. */
export type TopicOf<Jobs extends JobDefinitions> = keyof Jobs & string
/** What a producer sends. */
export type InputOf<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>> = InputOfSchema<
  Jobs[Topic]['input']
>
/** What a handler gets. */
export type PayloadOf<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>> = OutputOfSchema<
  Jobs[Topic]['input']
>
/** What a handler returns. */
export type ResultOf<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>> = InputOfSchema<
  Jobs[Topic]['output']
>
/** What a producer gets from `wait`. */
export type OutputOf<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>> = OutputOfSchema<
  Jobs[Topic]['output']
>

/** What a handler gives to `ctx.progress`. */
export type ProgressInputOf<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>> = InputOfSchema<
  Jobs[Topic]['progress']
>
/** What those who watch a job get. */
export type ProgressOf<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>> = OutputOfSchema<
  Jobs[Topic]['progress']
>

/** The names of the signals of a topic. */
export type SignalOf<
  Jobs extends JobDefinitions,
  Topic extends TopicOf<Jobs>,
> = keyof Jobs[Topic]['signals'] & string
/** What a sender sends. */
export type SignalInputOf<
  Jobs extends JobDefinitions,
  Topic extends TopicOf<Jobs>,
  Name extends SignalOf<Jobs, Topic>,
> = InputOfSchema<Jobs[Topic]['signals'][Name]>
/** What a sender sends, by the names of the signals of all topics; where topics share a name, what fits one of them. */
export type SignalInputs<Jobs extends JobDefinitions> = {
  readonly [Name in {
    [Topic in keyof Jobs]: keyof Jobs[Topic]['signals']
  }[keyof Jobs] &
    string]: {
    [Topic in keyof Jobs]: Name extends keyof Jobs[Topic]['signals']
      ? InputOfSchema<Jobs[Topic]['signals'][Name]>
      : never
  }[keyof Jobs]
}

/** What `ctx.receive` returns. */
export type SignalDataOf<
  Jobs extends JobDefinitions,
  Topic extends TopicOf<Jobs>,
  Name extends SignalOf<Jobs, Topic>,
> = OutputOfSchema<Jobs[Topic]['signals'][Name]>

/** Of a topic that names none. */
type NoSignals = Readonly<Record<never, never>>

/** Defines one kind of job, for `defineJobs`. Mistakes are reported when the module is loaded. */
export function job<
  Input extends Schema,
  Output extends Schema = z.ZodUnknown,
  Signals extends SignalSchemas = NoSignals,
  Progress extends Schema = z.ZodUnknown,
  const Queue extends string = never,
  const Priority extends number = never,
  const Timeout extends number = never,
  const Retry extends JobConfig<Schema, Schema>['retry'] = never,
  const Cron extends string = never,
>(
  config: JobConfig<Input, Output, Signals, Progress> & ShownOptions<Queue, Priority, Timeout, Retry, Cron>,
  // Signals are not inferred from where the definition goes, which would accept signals of any name.
): DefinedJob<
  Shown<{
    input: InputOfSchema<Input>
    output: OutputOfSchema<Output>
    signals: ShownSignals<Signals>
    progress: Progress extends z.ZodUnknown ? never : InputOfSchema<Progress>
    queue: Queue
    priority: Priority
    timeoutMs: Timeout
    retry: Retry
    cron: Cron
  }>,
  Input,
  Output,
  NoInfer<Signals>,
  NoInfer<Progress>
> {
  const {
    input,
    output = z.unknown(),
    signals,
    progress = z.unknown(),
    retry,
    cron,
    timezone,
    cronPayload,
    missed,
    ...defaults
  } = config
  assertSchema(input, 'input')
  assertSchema(output, 'output')
  assertSignals(signals)
  assertSchema(progress, 'progress')
  // Classes are for the worker only: they cannot be stored, so the schema of retry options has none.
  const { retryOn = [], ...retryOptions } = retry || {}
  const written = { ...defaults, retry: retry && retryOptions }
  const parsed = definitionSchema.safeParse(written)
  if (!parsed.success) throw toInputError(parsed.error, 'job', written)
  const { queue, priority, timeoutMs, isolate, events } = parsed.data
  return Object.freeze({
    [DEFINITION]: true,
    input,
    // Without an output schema Output is its default, ZodUnknown.
    output: output as Output,
    // Without signals Signals is its default, which has none.
    signals: Object.freeze({ ...signals }) as Signals,
    // Without a progress schema Progress is its default, ZodUnknown.
    progress: progress as Progress,
    queue,
    priority,
    timeoutMs,
    ...toRetrySettings(parsed.data.retry),
    retryOn,
    events,
    isolate: isolate === true ? {} : isolate || undefined,
    schedule: readSchedule(input, { cron, timezone, cronPayload, missed }),
  })
}

/** Definitions by topic, shared by producers and workers. */
export function defineJobs<const Jobs extends JobDefinitions>(jobs: Jobs): Jobs {
  for (const [topic, definition] of Object.entries(jobs)) {
    assertTopic(topic)
    if (typeof definition !== 'object' || definition === null || !(DEFINITION in definition)) {
      throw new OncueError('INVALID_INPUT', `jobs.${topic} is not a definition: write ${topic}: job({ … })`)
    }
  }
  return Object.freeze(jobs)
}

/** One definition in a file of its own: `defineJobs({ ...mailDigest, ...checkPayment })`. */
export function defineJob<
  Topic extends string,
  Input extends Schema,
  Output extends Schema = z.ZodUnknown,
  Signals extends SignalSchemas = NoSignals,
  Progress extends Schema = z.ZodUnknown,
>(
  topic: Topic,
  config: JobConfig<Input, Output, Signals, Progress>,
): { readonly [T in Topic]: JobDefinition<Input, Output, Signals, Progress> } {
  const definition = { [topic]: job(config) } as {
    readonly [T in Topic]: JobDefinition<Input, Output, Signals, Progress>
  }
  return defineJobs(definition)
}

const DEFINITION: unique symbol = Symbol.for('oncue.definition')

function assertSignals(signals: SignalSchemas | undefined): void {
  for (const [name, schema] of Object.entries(signals ?? {})) {
    if (name === '' || name.length > LIMITS.signalNameLength) {
      const message = `job.signals: a name must have 1 to ${LIMITS.signalNameLength} characters`
      throw new OncueError('INVALID_INPUT', message)
    }
    assertText(name, 'the name of a signal')
    if (name.includes(':')) throw new OncueError('INVALID_INPUT', 'job.signals: a name must not contain ":"')
    assertSchema(schema, `signals.${name}`)
  }
}

function assertSchema(schema: Schema, name: string): void {
  if (!isSchema(schema)) {
    const message = `job.${name} must be a schema of zod 4, or of a library with Standard Schema`
    throw new OncueError('INVALID_INPUT', message)
  }
  if ('async' in schema && schema.async) {
    throw new OncueError('INVALID_INPUT', `job.${name} is an asynchronous schema`, {
      hint: 'Use the synchronous one, and move the asynchronous part into the handler.',
    })
  }
  if (isZod(schema)) assertPossible(schema, name)
}
