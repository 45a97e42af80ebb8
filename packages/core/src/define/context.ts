import type { EnqueueOptions } from '../job/enqueue-options.ts'
import type { JobId } from '../job/id.ts'
import type { Job } from '../job/job.ts'
import type { InputOf, JobDefinitions, PayloadOf, ResultOf, TopicOf } from './jobs.ts'

/** Fields that a handler does not see: how the job is stored, claimed and ended. */
type NotRunning =
  | 'status'
  | 'result'
  | 'progress'
  | 'lastError'
  | 'concurrencyLimit'
  | 'depsLeft'
  | 'lockedBy'
  | 'lockedUntil'
  | 'visibleAt'
  | 'startedAt'
  | 'finishedAt'
  | 'cancelAt'
  | 'updated'

/** The job as its handler sees it: the fields of a claim, with the payload parsed by its schema. */
export interface RunningJob<Topic extends string = string, Payload = unknown>
  extends Readonly<Omit<Job, NotRunning>> {
  readonly topic: Topic
  readonly payload: Payload
}

type LogFields = Readonly<Record<string, unknown>>

/** Log lines that are stored with the job. */
export interface JobLog {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/** What a handler can do beside returning and throwing. */
export interface JobContext<
  Jobs extends JobDefinitions = JobDefinitions,
  Topic extends TopicOf<Jobs> = TopicOf<Jobs>,
> {
  readonly job: RunningJob<Topic, PayloadOf<Jobs, Topic>>

  /** 1 for the first run; retries and crashes count, snoozes do not. */
  readonly attempt: number

  /** Aborted at the timeout, when the job is cancelled, the worker stops, or the run is lost. Pass it on. */
  readonly signal: AbortSignal

  readonly log: JobLog

  /** Any small JSON that people should see while the job runs. Written with the next heartbeat. */
  progress(value: unknown): void

  /**
   * Runs `work` once for the whole job: a later run gets the stored result instead of running it again. The
   * result is the value after a round trip through JSON, of at most 1 MB (1,048,576 bytes). If it cannot be stored,
   * the job fails without a retry, because `work` has run. `name` has 1 to 255 characters and is the same in every
   * run.
   */
  step<Result>(
    name: string,
    work: (() => Result | Promise<Result>) & ReturnsStorable<Result>,
  ): Promise<Stored<Result>>

  /** Stores where to continue; a later run finds it in `job.cursor`. */
  checkpoint(cursor: unknown): Promise<void>

  /** Appends an event to the job's stream. */
  emit(type: string, data?: unknown): Promise<void>

  /** Enqueues a child: a job whose `parentId` is this one. */
  spawn<T extends TopicOf<Jobs>>(
    topic: T,
    payload: InputOf<Jobs, T>,
    options?: ContextEnqueueOptions,
  ): Promise<JobId>

  /** Enqueues an unrelated job. */
  enqueue<T extends TopicOf<Jobs>>(
    topic: T,
    payload: InputOf<Jobs, T>,
    options?: ContextEnqueueOptions,
  ): Promise<JobId>
}

/** The parent is set by the call: `spawn` sets it, `enqueue` does not. */
type ContextEnqueueOptions = Omit<EnqueueOptions, 'parentId'>

/** Any throw is a failure that is retried by policy, except the signals: PermanentError, Snooze, Cancel. */
export type Handler<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>> = (
  job: RunningJob<Topic, PayloadOf<Jobs, Topic>>,
  ctx: JobContext<Jobs, Topic>,
) => Returned<ResultOf<Jobs, Topic>> | Promise<Returned<ResultOf<Jobs, Topic>>>

/** A handler without a `return` returns void, which is stored like undefined. */
// biome-ignore lint/suspicious/noConfusingVoidType: it is the type of a function without a return
type Returned<Result> = undefined extends Result ? Result | void : Result

/** Values that JSON drops, turns into `{}` or refuses. */
type NotJson =
  | bigint
  | symbol
  | ((...args: never[]) => unknown)
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<WeakKey, unknown>
  | WeakSet<WeakKey>
  | PromiseLike<unknown>
  | RegExp
  | Error

type IsAny<T> = 0 extends 1 & T ? true : false

/** `Value` as it comes back after it was stored as JSON: a Date as text, a class without its methods. */
type Stored<Value> =
  IsAny<Value> extends true
    ? Value
    : Value extends { toJSON(...args: never[]): infer Json }
      ? Stored<Json>
      : Value extends NotJson
        ? never
        : Value extends object
          ? { [Key in keyof Value]: Stored<Value[Key]> }
          : Value

/** How deep a type is searched for what JSON cannot hold; types may refer to themselves. */
type Deep = [1, 1, 1, 1, 1]

/** The parts of `Value` that JSON cannot hold; `never` if there are none, or none that the type shows. */
type Unstorable<Value, Left extends unknown[] = Deep> =
  IsAny<Value> extends true
    ? never
    : Value extends { toJSON(...args: never[]): infer Json }
      ? Left extends [unknown, ...infer Rest]
        ? Unstorable<Json, Rest>
        : never
      : Value extends NotJson
        ? Value
        : Value extends readonly (infer Element)[]
          ? Left extends [unknown, ...infer Rest]
            ? Unstorable<Element, Rest>
            : never
          : Value extends object
            ? Left extends [unknown, ...infer Rest]
              ? { [Key in keyof Value]-?: Unstorable<Value[Key], Rest> }[keyof Value]
              : never
            : never

/** Refuses at compile time a function whose result could not be stored. */
type ReturnsStorable<Value> = [Unstorable<Value>] extends [never]
  ? unknown
  : { readonly 'a step must return a JSON value': Unstorable<Value> }
