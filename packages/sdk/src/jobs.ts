import {
  type EnqueueOptions,
  type InputOf,
  isOncueError,
  type JobDefinitions,
  type JobId,
  newJobId,
  OncueError,
  type OutputOf,
  type TopicOf,
} from '@oncue/core'
import { type Enqueued, type EnqueueItem, MAX_BATCH } from '@oncue/core/wire'
import type { CallOptions, Calls, Inputs, Outputs } from './api.ts'
import { fromWire } from './errors.ts'
import { toRequest } from './requests.ts'
import type { Transport } from './transport.ts'
import { type WaitOptions, waitForResult } from './wait.ts'

declare const RESULT: unique symbol
/** The id of a job, which remembers the type of its result. It is a plain string. */
export type JobRef<Result> = JobId & { readonly [RESULT]?: Result }

/** A topic, its payload and what else there is to say. */
export type Step<Jobs extends JobDefinitions> = {
  [Topic in TopicOf<Jobs>]: readonly [
    topic: Topic,
    payload: InputOf<Jobs, Topic>,
    options?: EnqueueOptions | undefined,
  ]
}[TopicOf<Jobs>]

/** The same as one object. */
export type JobToEnqueue<Jobs extends JobDefinitions> = {
  [Topic in TopicOf<Jobs>]: EnqueueOptions & {
    readonly topic: Topic
    readonly payload: InputOf<Jobs, Topic>
  }
}[TopicOf<Jobs>]

type RefsOf<Jobs extends JobDefinitions, Items extends readonly unknown[]> = {
  -readonly [N in keyof Items]: Items[N] extends readonly [infer Topic extends TopicOf<Jobs>, ...unknown[]]
    ? JobRef<OutputOf<Jobs, Topic>>
    : never
}

/** What became of each job, in their order. */
export interface EnqueueManyReport {
  readonly stored: number
  readonly refused: number
  readonly results: readonly EnqueuedOrRefused[]
}
export type EnqueuedOrRefused =
  | (Readonly<Enqueued> & { readonly error?: undefined })
  | { readonly id?: undefined; readonly error: OncueError }

/** Jobs by id, by ids, or by a filter. */
export type TargetOfAction =
  | JobId
  | readonly JobId[]
  | Extract<Inputs['jobs']['requeue'], { filter: unknown }>

type AsTheyAre = Pick<Calls['jobs'], 'stats' | 'failures' | 'series' | 'gauges'>

export interface JobsClient<Jobs extends JobDefinitions> extends AsTheyAre {
  /** Answers the id. Repeated by itself when the connection fails, and stored once. */
  enqueue<Topic extends TopicOf<Jobs>>(
    topic: Topic,
    payload: InputOf<Jobs, Topic>,
    options?: EnqueueOptions & CallOptions,
  ): Promise<JobRef<OutputOf<Jobs, Topic>>>

  /**
   * Any number of jobs, in requests of up to 1 000. One that the API refuses does not keep out the others;
   * with `atomic` it does, and there may be 1 000 of them.
   */
  enqueueMany(
    jobs: readonly JobToEnqueue<Jobs>[],
    options?: CallOptions & { readonly atomic?: boolean | undefined },
  ): Promise<EnqueueManyReport>

  /** Jobs of which each waits until the one before has completed: all of them are stored, or none. */
  chain<const Steps extends readonly Step<Jobs>[]>(...steps: Steps): Promise<RefsOf<Jobs, Steps>>

  list(filter?: Inputs['jobs']['list'], options?: CallOptions): Promise<Outputs['jobs']['list']>
  get(id: JobId, options?: CallOptions): Promise<Outputs['jobs']['get']>
  events(
    id: JobId,
    options?: Omit<Inputs['jobs']['events'], 'id'> & CallOptions,
  ): Promise<Outputs['jobs']['events']>
  requeue(target: TargetOfAction, options?: CallOptions): Promise<Outputs['jobs']['requeue']>
  cancel(target: TargetOfAction, options?: CallOptions): Promise<Outputs['jobs']['cancel']>
  delete(target: TargetOfAction, options?: CallOptions): Promise<Outputs['jobs']['delete']>

  /** The result, once the job has completed. Throws JOB_FAILED, JOB_CANCELLED or WAIT_TIMEOUT otherwise. */
  wait<Topic extends TopicOf<Jobs>>(
    id: JobId,
    options: WaitOptions & { readonly topic: Topic },
  ): Promise<OutputOf<Jobs, Topic>>
  wait<Result = unknown>(id: JobRef<Result> | JobId, options?: WaitOptions): Promise<Result>

  /** Every event of the job, and its state whenever it changes; ends with the final state. */
  watch(id: JobId, options?: CallOptions): ReturnType<Calls['jobs']['watch']>
}

type Prepared = ReturnType<typeof toRequest>

/** A larger one goes in a request of its own. */
const SMALL_BYTES = 50_000
/** The API takes 10 MB in one request. */
const REQUEST_BYTES = 8_000_000

export function createJobs<Jobs extends JobDefinitions>(
  transport: Transport,
  calls: Calls['jobs'],
  definitions: Jobs | undefined,
): JobsClient<Jobs> {
  /** By its id a repeated request finds the job of the first one. A key of the caller's own does the same. */
  const prepare = (topic: string, payload: unknown, options: EnqueueOptions | undefined): Prepared => {
    const { request, payloadBytes } = toRequest(definitions, topic, payload, options)
    if (transport.retries === 0 || request.idempotencyKey !== undefined) return { request, payloadBytes }
    return { request: { ...request, requestId: newJobId() }, payloadBytes }
  }

  const sendMany = async (jobs: readonly EnqueueItem[], atomic: boolean, signal: AbortSignal | undefined) => {
    const rules = { signal, isSafe: true, isMarked: true, alone: true }
    const answer = await transport.call('mutation', 'jobs.enqueueMany', { jobs, atomic }, rules)
    return answer as Outputs['jobs']['enqueueMany']
  }

  const act =
    (verb: 'requeue' | 'cancel' | 'delete') =>
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
    requeue: act('requeue'),
    cancel: act('cancel'),
    delete: act('delete'),
    get: (id, options) => calls.get({ id }, options),
    events: (id, { signal, ...range } = {}) => calls.events({ id, ...range }, { signal }),
    watch: (id, options) => calls.watch({ id }, options),

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
      // All or none: whatever was refused has been thrown.
      return results.map((result) => ('id' in result ? result.id : '')) as RefsOf<Jobs, typeof steps>
    },

    wait: (id: JobId, options?: WaitOptions & { readonly topic?: string }) =>
      waitForResult(transport, definitions, id, options) as Promise<never>,
  }
}

const isIds = (target: Exclude<TargetOfAction, string>): target is readonly JobId[] => Array.isArray(target)

const isEmpty = (options: object) => Object.keys(options).length === 0

/** Says which one it was. */
function atIndex<Value>(index: number, work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    if (!isOncueError(error)) throw error
    const { code, message, hint, details } = error
    throw new OncueError(code, `jobs[${index}]: ${message}`, {
      hint,
      details: { ...details, index },
      cause: error,
    })
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
