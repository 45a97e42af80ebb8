import type { EnqueueOptions } from '../job/enqueue-options.ts'
import type { JobError } from '../job/failure.ts'
import type { JobId } from '../job/id.ts'
import type { Job } from '../job/job.ts'
import type { AskRole } from '../job/question.ts'
import type { OutputOfSchema, Schema } from '../job/schema.ts'
import type { JobStatus } from '../job/states.ts'
import type { Child, ResultsOf, SettledOf } from './children.ts'
import type {
  InputOf,
  JobDefinitions,
  OutputOf,
  PayloadOf,
  ProgressInputOf,
  ResultOf,
  SignalDataOf,
  TopicOf,
} from './jobs.ts'
import type { Duration, Step, StepOptions, ToldStep, ToolStep } from './steps.ts'
import type { Commit, Complete, NoTransactions } from './transactions.ts'

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
  | 'waits'
  | 'ending'
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

/** What came of a wait for a signal. */
export type Received<Data> =
  | { readonly timedOut: false; readonly value: Data }
  | { readonly timedOut: true; readonly value?: undefined }

/** What came of a question: the answer and who gave it. */
export type Answered<Value> =
  | { readonly timedOut: false; readonly value: Value; readonly by: string }
  | { readonly timedOut: true; readonly value?: undefined; readonly by?: undefined }

/** Who may answer a question, and how long it is open. */
export interface AskOptions {
  /** Ends the wait without an answer. Default: never. */
  readonly timeout?: Duration | undefined
  /** Who may answer: this role, or one that may do more. Default: operator. */
  readonly role?: AskRole | undefined
}

/** A job that another has waited for. */
export type WaitedFor<Result = unknown> = {
  readonly id: JobId
  readonly topic: string
  /** Of a node of a flow. */
  readonly name: string | null
} & (
  | { readonly status: 'completed'; readonly result: Result; readonly error: null }
  | {
      /** Live: it was requeued meanwhile. */
      readonly status: Exclude<JobStatus, 'completed'>
      readonly result?: undefined
      readonly error: JobError | null
    }
)

/**
 * What a handler can do beside returning and throwing. A type and no interface: before each of its methods an editor would
 * show the definitions of all topics.
 */
export type JobContext<
  Jobs extends JobDefinitions = JobDefinitions,
  Topic extends TopicOf<Jobs> = TopicOf<Jobs>,
  Given = NoTransactions,
> = {
  readonly job: RunningJob<Topic, PayloadOf<Jobs, Topic>>

  /** 1 for the first run; retries and crashes count, snoozes do not. */
  readonly attempt: number

  /** Aborted at the timeout, when the job is cancelled or suspended, the worker stops, or the run is lost. Pass it on. */
  readonly signal: AbortSignal

  readonly log: JobLog

  /** What people should see while the job runs, by the definition's `progress`, or any JSON. Written with the next heartbeat. */
  progress(value: ProgressInputOf<Jobs, Topic>): void

  /** Pieces of work that run once for the whole job. */
  readonly step: Step

  /**
   * Three kinds of step for agents, by the rules of `step`. Beside their outcome they write what happens into the job's
   * stream, before the run goes on: `plan` a `plan_generated`, `node` a `node_started` and a `node_finished`, `tool` a
   * `tool_called` with the arguments and a `tool_returned`. Arguments and results over 60 KB are left out of the events.
   */
  readonly plan: ToldStep
  readonly node: ToldStep
  readonly tool: ToolStep

  /**
   * `commit(name, (tx) => …)`: a step whose result is stored together with the rows that `work` writes through `tx`, a
   * transaction of your own library: all of it or nothing. A later run gets the stored result, and `work` does not run.
   * `work` is repeated after a serialization conflict, a deadlock or a lost connection, so it must do nothing else. A run
   * that has lost its job is rolled back: STALE_RUN. Needs `defineWorkers(jobs, handlers, { transactions })`; not for
   * isolated topics.
   */
  readonly commit: Commit<Given>

  /**
   * `complete(tx, result)`: completes the job as part of a transaction that the handler has opened with the library of
   * `transactions`, so that its end and the handler's rows are stored together. Call it last in the transaction, and return
   * when that has committed: what the handler returns or throws then is ignored. If it was rolled back, the run has failed
   * with COMPLETE_ROLLED_BACK and is retried. With better-sqlite3 everything has happened, or thrown, before it returns. Not
   * for isolated topics.
   */
  readonly complete: Complete<Jobs, Topic, Given>

  /**
   * Waits for a time, or until a moment. A wait of more than a second leaves the worker: the job is suspended, and its
   * handler runs again from the top when the time is over, with the stored results of its steps.
   */
  sleep(name: string, until: Duration | Date): Promise<void>

  /**
   * Waits for a signal that the topic's definition names, outside of the worker. Signals sent before are kept: each
   * call takes the next one of its name. A second call while one is open is the same wait.
   */
  receive<Name extends keyof Jobs[Topic]['signals'] & string>(
    name: Name,
    options?: {
      /** Ends the wait without a signal. Default: never. */
      readonly timeout?: Duration | undefined
    },
  ): Promise<Received<SignalDataOf<Jobs, Topic, Name>>>

  /**
   * Whether this job comes to this line with the change that is called so: false for jobs that had passed the line before
   * the code was deployed. Decided once for the job, so that every run goes the same way. `change` is a name of 1 to 255
   * characters.
   */
  since(change: string): Promise<boolean>

  /**
   * Registers what takes back the steps before it, if the job fails for good or is cancelled. Resolves when that is recorded. The
   * undos of a job run in another run, the last one first, each once: the handler is repeated up to its first call that was
   * not recorded, then dropped. `name` is the same in every run, and used once in each. `retry` repeats an undo that
   * throws: ten times if omitted, over a quarter of an hour. If that does not help, the job fails with UNDO_FAILED.
   */
  undo(name: string, work: (signal: AbortSignal) => unknown, options?: StepOptions): Promise<void>

  /**
   * Calls `release` when this run ends, however it ends, also when it is suspended: for what the run holds, since
   * `finally` does not run then. The last one is called first. An error is logged and changes nothing. The job is settled
   * when all are done, after `abandonMs` at the latest.
   */
  defer(release: () => unknown): void

  /**
   * Asks a person, who answers in the app, by the API or on the command line, and waits outside of the worker. The form
   * is made from the schema. An answer that the schema refuses opens the question again. `name` has 1 to 255
   * characters, is the same in every run, and used once in each.
   */
  ask<Answer extends Schema>(
    name: string,
    question: string,
    schema: Answer,
    options?: AskOptions,
  ): Promise<Answered<OutputOfSchema<Answer>>>

  /** Stores where to continue; a later run finds it in `job.cursor`. */
  checkpoint(cursor: unknown): Promise<void>

  /** Appends an event to the job's stream. */
  emit(type: string, data?: unknown): Promise<void>

  /**
   * Enqueues a child: a job whose `parentId` is this one, once for the whole job. A later run gets the same child: the
   * call is known by its `name`, or else by its number among the calls with this topic. It must make the same payload
   * then: SPAWN_CHANGED. Resolves with the id; for results, pass what it returns to `ctx.all`.
   */
  spawn<T extends keyof Jobs & string>(
    topic: T,
    payload: InputOf<Jobs, T>,
    options?: SpawnOptions,
  ): Child<OutputOf<Jobs, T>>

  /**
   * Waits until these children have ended, outside of the worker, and returns their results in this order: of up to 16 MB in
   * total. If some did not complete, it waits for the last one and throws a ChildrenFailed.
   */
  all<const Children extends readonly Child[]>(children: Children): Promise<ResultsOf<Children>>

  /** The same, but never throws because of a child: says of each how it ended. */
  allSettled<const Children extends readonly Child[]>(children: Children): Promise<SettledOf<Children>>

  /**
   * The jobs that this one has waited for, in their order, with what came of each: those of its batch, for `then` and
   * `onFailure`, or the nodes of its flow with an edge to it. Of one topic, whose results have its type, or of all. As they are now, read in pages:
   * `for await (const { id, status, result } of ctx.waitedFor('resize')) …`.
   */
  waitedFor<T extends keyof Jobs & string>(topic: T): AsyncIterable<WaitedFor<OutputOf<Jobs, T>>>
  waitedFor(): AsyncIterable<WaitedFor>

  /** Enqueues an unrelated job, once for the whole job, as `spawn` does. */
  enqueue<T extends keyof Jobs & string>(
    topic: T,
    payload: InputOf<Jobs, T>,
    options?: ContextEnqueueOptions,
  ): Promise<JobId>
}

/** The parent is set by the call: `spawn` sets it, `enqueue` does not. */
interface ContextEnqueueOptions extends Omit<EnqueueOptions, 'parentId'> {
  /** The same in every run, and used once in each. Default: the topic and the number of the call. */
  readonly name?: string | undefined
}

/** The options of a child: those of an enqueue, its name, and what becomes of it when its parent is cancelled. */
export interface SpawnOptions extends ContextEnqueueOptions {
  /** What becomes of the child when this job is cancelled. Default: `cancel`. */
  readonly onParentCancel?: 'cancel' | 'leave' | undefined
}

/** Any throw is a failure that is retried by policy, except the signals: PermanentError, Snooze, Cancel. */
export type Handler<
  Jobs extends JobDefinitions,
  Topic extends TopicOf<Jobs>,
  Given = NoTransactions,
> = HandlerOf<Topic, PayloadOf<Jobs, Topic>, ResultOf<Jobs, Topic>, JobContext<Jobs, Topic, Given>>

/** Named by what one topic is, so that an error of the compiler starts with that, and not with all definitions. */
export type HandlerOf<Topic extends string, Payload, Result, Context> = (
  job: RunningJob<Topic, Payload>,
  ctx: Context,
) => Returned<Result> | Promise<Returned<Result>>

/** A handler without a `return` returns void, which is stored like undefined. */
// biome-ignore lint/suspicious/noConfusingVoidType: it is the type of a function without a return
type Returned<Result> = undefined extends Result ? Result | void : Result

/** The argument of `ctx.complete`: may be left out where the handler may return nothing. */
export type ResultOfJob<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>> =
  undefined extends ResultOf<Jobs, Topic> ? [result?: ResultOf<Jobs, Topic>] : [result: ResultOf<Jobs, Topic>]
