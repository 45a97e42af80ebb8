import {
  type EnqueueOptions,
  type InputOf,
  isOncueError,
  type JobDefinitions,
  type JobId,
  newJobId,
  OncueError,
  type OutputOf,
  type ProgressOf,
  type SignalInputs,
  type TopicOf,
} from '@oncue/core'
import { parseProgress } from '@oncue/core/internal'
import { type Batched, type Enqueued, type EnqueueItem, MAX_BATCH, type WatchMessage } from '@oncue/core/wire'
import type { CallOptions, Calls, Inputs, Outputs } from './api.ts'
import { fromWire } from './errors.ts'
import { toRequest } from './requests.ts'
import type { Transport } from './transport.ts'
import { type WaitOptions, waitForResult } from './wait.ts'

declare const RESULT: unique symbol
declare const PROGRESS: unique symbol
/** The id of a job: a plain string whose type carries the types of its result and its progress. */
export type JobRef<Result, Progress = unknown> = JobId & {
  readonly [RESULT]?: Result
  readonly [PROGRESS]?: Progress
}

/** The id of a job of a topic. */
type RefOf<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>> = JobRef<
  OutputOf<Jobs, Topic>,
  ProgressOf<Jobs, Topic>
>

/** What a job's stream tells: an event, or its state. */
export type WatchedMessage<Progress> =
  | Extract<WatchMessage, { type: 'event' }>
  | {
      readonly type: 'state'
      readonly state: Omit<StateMessage['state'], 'progress'> & {
        /** Null: none yet, or it is masked, or does not fit your definition. */
        readonly progress: Progress | null
      }
    }
type StateMessage = Extract<WatchMessage, { type: 'state' }>

/** What `watch` tells. */
export interface WatchOptions extends CallOptions {
  /** False: only its states. Default: true. */
  readonly events?: boolean | undefined
  /** Called with the reason when the connection is lost, and with null when it is open again. */
  readonly onConnection?: ((lost: OncueError | null) => void) | undefined
}

/** A job of a chain: topic, payload, options. */
export type Step<Jobs extends JobDefinitions> = {
  [Topic in TopicOf<Jobs>]: readonly [
    topic: Topic,
    payload: InputOf<Jobs, Topic>,
    options?: EnqueueOptions | undefined,
  ]
}[TopicOf<Jobs>]

/** A job of `enqueueMany`: topic, payload and options in one object. */
export type JobToEnqueue<Jobs extends JobDefinitions> = {
  [Topic in TopicOf<Jobs>]: JobOf<Topic, InputOf<Jobs, Topic>>
}[TopicOf<Jobs>]

/** What fits one topic. */
interface JobOf<Topic, Payload> extends EnqueueOptions {
  readonly topic: Topic
  readonly payload: Payload
}

/** What follows a batch: it waits for other jobs, so it can have no key, which may stand for a job that does not. */
type Follower<Jobs extends JobDefinitions, Without extends keyof EnqueueOptions = never> = {
  readonly [Topic in TopicOf<Jobs>]: Omit<EnqueueOptions, 'after' | 'unique' | 'idempotencyKey' | Without> & {
    readonly topic: Topic
    readonly payload: InputOf<Jobs, Topic>
  }
}[TopicOf<Jobs>]

/** At least one of the two. */
type AfterBatch<Jobs extends JobDefinitions> =
  | { readonly then: Follower<Jobs>; readonly onFailure?: Follower<Jobs, 'onParentFailure'> | undefined }
  | {
      readonly then?: Follower<Jobs> | undefined
      readonly onFailure: Follower<Jobs, 'onParentFailure'>
    }

/** From one node of a flow to another. */
type Edge<Name extends string> = { [From in Name]: readonly [from: From, to: Exclude<Name, From>] }[Name]

/** The ids of a flow, by the names of its nodes, with the types of their results. */
type RefsByName<Jobs extends JobDefinitions, Nodes> = {
  readonly [Name in keyof Nodes]: Nodes[Name] extends { readonly topic: infer Topic extends TopicOf<Jobs> }
    ? RefOf<Jobs, Topic>
    : never
}

type RefsOf<Jobs extends JobDefinitions, Items extends readonly unknown[]> = {
  -readonly [N in keyof Items]: Items[N] extends readonly [infer Topic extends TopicOf<Jobs>, ...unknown[]]
    ? RefOf<Jobs, Topic>
    : never
}

/** The outcome of each job, in the order given. */
export interface EnqueueManyReport {
  readonly stored: number
  readonly refused: number
  readonly results: readonly EnqueuedOrRefused[]
}
/** What became of one job of `enqueueMany`: its id, or why it was refused. */
export type EnqueuedOrRefused =
  | (Readonly<Enqueued> & { readonly error?: undefined })
  | { readonly id?: undefined; readonly error: OncueError }

/** Jobs by id, by ids, or by a filter. */
export type TargetOfAction =
  | JobId
  | readonly JobId[]
  | Extract<Inputs['jobs']['requeue'], { filter: unknown }>

type SameCalls = Pick<Calls['jobs'], 'stats' | 'failures' | 'series' | 'gauges' | 'questions'>

/** A type and no interface: before each of its methods an editor would show the definitions of all topics. */
export type JobsClient<Jobs extends JobDefinitions> = SameCalls & {
  /** Returns the id. Retried if the connection fails; the job is stored once. */
  enqueue<Topic extends keyof Jobs & string>(
    topic: Topic,
    payload: InputOf<Jobs, Topic>,
    options?: EnqueueOptions & CallOptions,
  ): Promise<JobRef<OutputOf<Jobs, Topic>, ProgressOf<Jobs, Topic>>>

  /**
   * Takes any number of jobs, in requests of up to 1,000. Jobs that the API rejects are reported, the others are
   * stored. With `atomic`, all are stored or none, and 1,000 is the limit.
   */
  enqueueMany(
    jobs: readonly JobToEnqueue<Jobs>[],
    options?: CallOptions & { readonly atomic?: boolean | undefined },
  ): Promise<EnqueueManyReport>

  /** Jobs that run one after the other: each waits until the previous one has completed. All are stored, or none. */
  chain<const Steps extends readonly Step<Jobs>[]>(...steps: Steps): Promise<RefsOf<Jobs, Steps>>

  /**
   * Enqueues jobs and, in the same transaction, what follows them: `then` runs when all have completed, `onFailure` once
   * when all have ended and some have not completed; if all have, it is cancelled. All are stored, or none: up to 10,000
   * jobs in one request of 10 MB. Ids in the same order.
   */
  batch(jobs: readonly JobToEnqueue<Jobs>[], after: AfterBatch<Jobs> & CallOptions): Promise<Batched>

  /**
   * Enqueues jobs that wait for each other: each edge is `[from, to]`, the names of two nodes, and `to` starts when `from`
   * has completed. All are stored, or none. Returns the ids by name. Throws DEPENDENCY_CYCLE.
   */
  flow<const Nodes extends { readonly [name: string]: JobToEnqueue<Jobs> }>(
    flow: { readonly nodes: Nodes; readonly edges?: readonly Edge<keyof Nodes & string>[] | undefined },
    options?: CallOptions,
  ): Promise<RefsByName<Jobs, Nodes>>

  /** The job with all that it is connected to: parents, children, batches and flows. Up to 1,000 jobs. */
  tree(id: JobId, options?: CallOptions): Promise<Outputs['jobs']['tree']>

  list(filter?: Inputs['jobs']['list'], options?: CallOptions): Promise<Outputs['jobs']['list']>
  get(id: JobId, options?: CallOptions): Promise<Outputs['jobs']['get']>
  /** Why a job waits, and its position. */
  explain(id: JobId, options?: CallOptions): Promise<Outputs['jobs']['explain']>
  /** Its parent, its children, the jobs it waits for and those that wait for it. */
  family(id: JobId, options?: CallOptions): Promise<Outputs['jobs']['family']>
  events(
    id: JobId,
    options?: Omit<Inputs['jobs']['events'], 'id'> & CallOptions,
  ): Promise<Outputs['jobs']['events']>
  requeue(target: TargetOfAction, options?: CallOptions): Promise<Outputs['jobs']['requeue']>
  /**
   * Requeues a finished or retrying job with another payload, if it still is as you read it: pass what `get` returned.
   * Throws JOB_CHANGED if it is not.
   */
  requeueWithPayload(
    job: Pick<Outputs['jobs']['get'], 'id' | 'run' | 'updated'>,
    payload: unknown,
    options?: CallOptions,
  ): Promise<Outputs['jobs']['requeueWithPayload']>
  /**
   * Requeues a finished job that repeats a step and what followed it, or with null everything; what was recorded before the
   * step stays. Throws STEP_NOT_FOUND or INVALID_STATE.
   */
  requeueFrom(id: JobId, step: string | null, options?: CallOptions): Promise<Outputs['jobs']['requeueFrom']>
  /**
   * Sends a signal to a live job, which waits for it with `ctx.receive`, or will. Throws UNKNOWN_SIGNAL, INVALID_SIGNAL,
   * JOB_NOT_FOUND or JOB_FINISHED. Retried if the connection fails; the job gets it once.
   */
  signal<Name extends keyof SignalInputs<Jobs> & string>(
    id: JobId,
    name: Name,
    data: SignalInputs<Jobs>[Name],
    options?: SignalOptions,
  ): Promise<void>
  /**
   * Answers an open question, which a handler asked with `ctx.ask`. Throws NOT_ASKED, ALREADY_ANSWERED,
   * QUESTION_TIMED_OUT, INVALID_ANSWER, JOB_NOT_FOUND or JOB_FINISHED. Retried if the connection fails.
   */
  answer(id: JobId, name: string, value: unknown, options?: SignalOptions): Promise<void>
  /** What happened to a job and what it waits for, in one order. */
  timeline(id: JobId, options?: CallOptions): Promise<Outputs['jobs']['timeline']>
  /** Makes retrying and scheduled jobs due at once. */
  runNow(target: TargetOfAction, options?: CallOptions): Promise<Outputs['jobs']['runNow']>
  cancel(target: TargetOfAction, options?: CallOptions): Promise<Outputs['jobs']['cancel']>
  delete(target: TargetOfAction, options?: CallOptions): Promise<Outputs['jobs']['delete']>

  /** Waits for the job's result. Throws JOB_FAILED, JOB_CANCELLED or WAIT_TIMEOUT. */
  wait<Result = unknown, Topic extends keyof Jobs & string = never>(
    id: JobRef<Result> | JobId,
    options?: WaitOptions & {
      /** Of an id that comes from elsewhere: gives the result its type. */
      readonly topic?: Topic
    },
  ): Promise<[Topic] extends [never] ? Result : OutputOf<Jobs, Topic>>

  /** Yields every event of the job, and its state whenever that changes. Ends with the final state. */
  watch<Progress = unknown>(
    id: JobRef<unknown, Progress> | JobId,
    options?: WatchOptions,
  ): AsyncIterable<WatchedMessage<Progress>>
}

interface SignalOptions extends CallOptions {
  /** Of several signals with the same name and key, the job gets one. Default: a new one. */
  readonly key?: string | undefined
}

type Prepared = ReturnType<typeof toRequest>

/** Larger payloads get a request of their own. */
const SMALL_BYTES = 50_000
/** The API accepts 10 MB per request. */
const REQUEST_BYTES = 8_000_000

export function createJobs<Jobs extends JobDefinitions>(
  transport: Transport,
  calls: Calls['jobs'],
  definitions: Jobs | undefined,
): JobsClient<Jobs> {
  /** Adds a request id, by which a retry finds the job that the first attempt stored. The caller's own key does the same. */
  const prepare = (topic: string, payload: unknown, options: EnqueueOptions | undefined): Prepared => {
    const { request, payloadBytes } = toRequest(definitions, topic, payload, options)
    if (transport.retries === 0 || request.idempotencyKey !== undefined) return { request, payloadBytes }
    return { request: { ...request, requestId: newJobId() }, payloadBytes }
  }

  const sendMany = async (jobs: readonly EnqueueItem[], atomic: boolean, signal: AbortSignal | undefined) => {
    const rules = { signal, isSafe: true, isMarked: true, alone: true }
    const report = await transport.call('mutation', 'jobs.enqueueMany', { jobs, atomic }, rules)
    return report as Outputs['jobs']['enqueueMany']
  }

  const prepareAt = (at: string, { topic, payload, ...options }: AnyJob) =>
    naming(at, () => prepare(topic, payload, isEmpty(options) ? undefined : options).request)

  const act =
    (verb: 'requeue' | 'runNow' | 'cancel' | 'delete') =>
    (target: TargetOfAction, options?: CallOptions): Promise<Outputs['jobs']['requeue']> => {
      if (typeof target === 'string') return calls[verb]({ ids: [target] }, options)
      return calls[verb](isIds(target) ? { ids: [...target] } : target, options)
    }

  return {
    list: (filter = {}, options) => calls.list(filter, options),
    stats: calls.stats,
    failures: calls.failures,
    series: calls.series,
    gauges: calls.gauges,
    questions: calls.questions,
    requeue: act('requeue'),
    requeueWithPayload: ({ id, run, updated }, payload, options) =>
      calls.requeueWithPayload({ id, run, updated, payload }, options),
    requeueFrom: (id, step, options) => calls.requeueFrom({ id, step }, options),
    async signal(id, name, data, { key = newJobId(), signal } = {}) {
      const rules = { signal, isSafe: true }
      await transport.call('mutation', 'jobs.signal', { id, name, data, key }, rules)
    },
    async answer(id, name, value, { key = newJobId(), signal } = {}) {
      await transport.call('mutation', 'jobs.answer', { id, name, value, key }, { signal, isSafe: true })
    },
    timeline: (id, options) => calls.timeline({ id }, options),
    runNow: act('runNow'),
    cancel: act('cancel'),
    delete: act('delete'),
    get: (id, options) => calls.get({ id }, options),
    explain: (id, options) => calls.explain({ id }, options),
    family: (id, options) => calls.family({ id }, options),
    events: (id, { signal, ...range } = {}) => calls.events({ id, ...range }, { signal }),
    watch: (id, options) => watchJob(transport, definitions, id, options) as AsyncIterable<never>,

    async enqueue(topic, payload, { signal, ...options } = {}) {
      const { request, payloadBytes } = prepare(topic, payload, isEmpty(options) ? undefined : options)
      const rules = { signal, isSafe: true, isMarked: true, alone: payloadBytes > SMALL_BYTES }
      const { id } = (await transport.call(
        'mutation',
        'jobs.enqueue',
        request,
        rules,
      )) as Outputs['jobs']['enqueue']
      return id
    },

    async enqueueMany(jobs, { signal, atomic = false } = {}) {
      if (atomic && jobs.length > MAX_BATCH) {
        const message = `There are ${jobs.length} jobs; at most ${MAX_BATCH} can be enqueued in one call`
        throw new OncueError('BATCH_TOO_LARGE', message)
      }
      const requests = jobs.map(({ topic, payload, ...options }, index) =>
        atIndex(index, () => prepare(topic, payload, isEmpty(options) ? undefined : options)),
      )
      const report = { stored: 0, refused: 0, results: [] as EnqueuedOrRefused[] }
      for (const part of atomic ? [requests.map(({ request }) => request)] : inParts(requests)) {
        if (part.length === 0) continue
        const { stored, refused, results } = await sendMany(part, atomic, signal)
        report.stored += stored
        report.refused += refused
        report.results.push(...results.map(toOutcome))
      }
      return report
    },

    async chain(...steps) {
      const requests = steps.map(([topic, payload, options], index) => {
        const { request } = atIndex(index, () => prepare(topic, payload, options))
        return index === 0 ? request : { ...request, afterItems: [index - 1] }
      })
      if (requests.length === 0) throw new OncueError('INVALID_INPUT', 'A chain needs at least one job')
      const { results } = await sendMany(requests, true, undefined)
      // All or none: a rejected job has thrown.
      return results.map((result) => ('id' in result ? result.id : '')) as RefsOf<Jobs, typeof steps>
    },

    async batch(jobs, { then, onFailure, signal }) {
      const input = {
        jobs: jobs.map((job, n) => prepareAt(`jobs[${n}]`, job)),
        // biome-ignore lint/suspicious/noThenProperty: it is no function, so no promise takes it for one
        ...(then && { then: prepareAt('then', then) }),
        ...(onFailure && { onFailure: prepareAt('onFailure', onFailure) }),
      }
      const rules = { signal, isSafe: true, isMarked: true, alone: true }
      return (await transport.call('mutation', 'jobs.batch', input, rules)) as Batched
    },

    async flow({ nodes, edges = [] }, { signal } = {}) {
      const input = {
        nodes: Object.fromEntries(
          Object.entries<AnyJob>(nodes).map(([name, node]) => [name, prepareAt(`nodes.${name}`, node)]),
        ),
        edges,
      }
      const rules = { signal, isSafe: true, isMarked: true, alone: true }
      const { ids } = (await transport.call('mutation', 'jobs.flow', input, rules)) as Outputs['jobs']['flow']
      return ids as never
    },

    tree: (id, options) => calls.tree({ id }, options),

    wait: (id: JobId, options?: WaitOptions & { readonly topic?: string }) =>
      waitForResult(transport, definitions, id, options) as Promise<never>,
  }
}

/** With progress as the definition of the topic reads it. */
async function* watchJob(
  transport: Transport,
  definitions: JobDefinitions | undefined,
  id: JobId,
  { signal, events, onConnection }: WatchOptions = {},
): AsyncGenerator<WatchedMessage<unknown>, void> {
  const messages = transport.watch('jobs.watch', { id, events }, signal, { onConnection })
  for await (const message of messages as AsyncIterable<WatchMessage>) {
    if (message.type === 'event') yield message
    else {
      const { topic, progress } = message.state
      const definition = definitions && Object.hasOwn(definitions, topic) ? definitions[topic] : undefined
      const read = definition ? parseProgress(definition.progress, progress) : progress
      yield { type: 'state', state: { ...message.state, progress: read } }
    }
  }
}

const isIds = (target: Exclude<TargetOfAction, string>): target is readonly JobId[] => Array.isArray(target)

const isEmpty = (options: object) => Object.keys(options).length === 0

type AnyJob = EnqueueOptions & { readonly topic: string; readonly payload?: unknown }

/** Adds the index of the job to an error. */
function atIndex<Value>(index: number, work: () => Value): Value {
  return naming(`jobs[${index}]`, work, { index })
}

/** Adds where the job is in the call. */
function naming<Value>(at: string, work: () => Value, more: object = {}): Value {
  try {
    return work()
  } catch (error) {
    if (!isOncueError(error)) throw error
    const { code, message, hint, details } = error
    throw new OncueError(code, `${at}: ${message}`, { hint, details: { ...details, ...more }, cause: error })
  }
}

function toOutcome(result: Outputs['jobs']['enqueueMany']['results'][number]): EnqueuedOrRefused {
  if ('id' in result) return result
  return {
    error: fromWire(result.error) ?? new OncueError('INTERNAL', 'The API rejected a job without a reason'),
  }
}

function* inParts(prepared: readonly Prepared[]): Generator<EnqueueItem[]> {
  let part: EnqueueItem[] = []
  let bytes = 0
  for (const { request, payloadBytes } of prepared) {
    if (part.length === MAX_BATCH || (part.length > 0 && bytes + payloadBytes > REQUEST_BYTES)) {
      yield part
      part = []
      bytes = 0
    }
    part.push(request)
    bytes += payloadBytes
  }
  yield part
}
