import {
  type InputOf,
  type JobDefinitions,
  type JobId,
  newJobId,
  OncueError,
  type ResultOf,
  type TopicOf,
} from '@oncue/core'
import type { EnqueueItem } from '@oncue/core/wire'
import type { Inputs, Noun, Outputs, VerbOf } from './api.ts'
import { type Client, createClientOver } from './client.ts'
import type { Transport } from './transport.ts'

/** An enqueued job, with the options that were given. */
export type RecordedJob<Jobs extends JobDefinitions> = {
  [Topic in TopicOf<Jobs>]: Omit<EnqueueItem, 'topic' | 'payload' | 'afterItems' | 'requestId'> & {
    readonly id: JobId
    readonly topic: Topic
    readonly payload: InputOf<Jobs, Topic>
  }
}[TopicOf<Jobs>]

/** Results of handlers by topic, for `wait`. */
export type TestResults<Jobs extends JobDefinitions> = {
  readonly [Topic in TopicOf<Jobs>]?: (payload: InputOf<Jobs, Topic>) => ResultOf<Jobs, Topic>
}

/** Responses of the API by procedure: `{ 'queues.list': () => [] }`. */
export type TestAnswers = {
  readonly [Name in {
    [N in Noun]: `${N}.${VerbOf<N> & string}`
  }[Noun]]?: Name extends `${infer N extends Noun}.${infer V}`
    ? V extends VerbOf<N>
      ? (input: Inputs[N][V]) => Outputs[N][V]
      : never
    : never
}

/** A client that records what is enqueued and sends nothing. */
export interface TestClient<Jobs extends JobDefinitions = JobDefinitions> extends Client<Jobs> {
  /** In the order of the calls. */
  readonly enqueued: readonly RecordedJob<Jobs>[]
  /** Empties `enqueued`. */
  clear(): void
}

/**
 * A client for tests. It checks jobs as the real one does, and records what was enqueued; nothing is sent. It ignores
 * keys: a job that is enqueued twice is recorded twice.
 */
export function createTestClient<const Jobs extends JobDefinitions = JobDefinitions>(
  options: {
    /** Your job definitions. */
    readonly jobs?: Jobs | undefined
    /** Results of handlers by topic, for `wait`. */
    readonly results?: TestResults<Jobs> | undefined
    /** Responses of the API by procedure: `{ 'queues.list': () => [] }`. */
    readonly answers?: TestAnswers | undefined
  } = {},
): TestClient<Jobs> {
  const recorder = new Recorder(options.results ?? {}, options.answers ?? {})
  return {
    ...createClientOver(recorder, options.jobs),
    // They matched the definitions when they were enqueued.
    enqueued: recorder.enqueued as unknown as readonly RecordedJob<Jobs>[],
    clear: () => void recorder.enqueued.splice(0),
  }
}

type Recorded = Omit<EnqueueItem, 'afterItems'> & { readonly id: JobId }
type Functions = Readonly<Record<string, ((input: never) => unknown) | undefined>>

class Recorder implements Transport {
  readonly retries = 0
  readonly timeoutMs = 0
  readonly enqueued: Recorded[] = []
  readonly #results: Functions
  readonly #answers: Functions

  constructor(results: object, answers: object) {
    this.#results = { ...results }
    this.#answers = { ...answers }
  }

  async call(_: unknown, path: string, input: unknown): Promise<unknown> {
    if (this.#answers[path]) return this.#ask(path, input)
    if (path === 'jobs.enqueue') return this.#record([input as EnqueueItem])[0]
    if (path === 'jobs.enqueueMany') {
      const results = this.#record((input as { jobs: readonly EnqueueItem[] }).jobs)
      return { stored: results.length, refused: 0, results }
    }
    if (path === 'jobs.batch') return this.#recordBatch(input as Inputs['jobs']['batch'])
    if (path === 'jobs.flow') return this.#recordFlow(input as Inputs['jobs']['flow'])
    if (path === 'jobs.wait') return this.#finish((input as { id: JobId }).id)
    return this.#ask(path, input)
  }

  async *watch(path: string, input: object | undefined): AsyncGenerator<unknown, void> {
    yield* this.#ask(path, input) as AsyncIterable<unknown>
  }

  async rest(method: string, path: string): Promise<unknown> {
    throw new OncueError('INVALID_STATE', `The test client has no response for ${method} ${path}`)
  }

  #record(items: readonly EnqueueItem[]): { id: JobId; created: boolean; replaced: boolean }[] {
    const ids = items.map(() => newJobId())
    const idOf = (index: number) => ids[index] ?? ''
    items.forEach(({ afterItems, ...item }, index) => {
      const after = [...(item.after ?? []), ...(afterItems ?? []).map(idOf)]
      this.enqueued.push({ id: idOf(index), ...present(item), ...(after.length > 0 && { after }) })
    })
    return ids.map((id) => ({ id, created: true, replaced: false }))
  }

  #recordBatch({ jobs, then, onFailure }: Inputs['jobs']['batch']): Outputs['jobs']['batch'] {
    const afterItems = jobs.map((_, n) => n)
    const follow = (job: object | undefined, more: object = {}) =>
      job ? [{ ...job, afterItems, ...more } as EnqueueItem] : []
    const followers = [...follow(then), ...follow(onFailure, { onParentFailure: 'go_on' })]
    const ids = this.#record([...jobs, ...followers]).map(({ id }) => id)
    return {
      ids: ids.slice(0, jobs.length),
      thenId: then ? (ids[jobs.length] ?? null) : null,
      onFailureId: onFailure ? (ids.at(-1) ?? null) : null,
    }
  }

  #recordFlow({ nodes, edges = [] }: Inputs['jobs']['flow']): Outputs['jobs']['flow'] {
    const names = Object.keys(nodes)
    const items = Object.entries(nodes).map(([name, node]) => {
      const afterItems = edges.flatMap(([from, to]) => (to === name ? [names.indexOf(from)] : []))
      return { ...node, ...(afterItems.length > 0 && { afterItems }) }
    })
    const ids = this.#record(items).map(({ id }) => id)
    return { ids: Object.fromEntries(names.map((name, n) => [name, ids[n] ?? ''])) }
  }

  #finish(id: JobId): Outputs['jobs']['wait'] {
    const job = this.enqueued.find((candidate) => candidate.id === id)
    if (!job) throw new OncueError('JOB_NOT_FOUND', `No job ${id} was enqueued with this client`)
    const toResult = this.#results[job.topic]
    if (!toResult)
      throw new OncueError('INVALID_STATE', `The test client has no result for ${job.topic}`, {
        hint: `Pass createTestClient results: { ${job.topic}: (payload) => … }.`,
      })
    const result = JSON.parse(JSON.stringify(toResult(job.payload as never) ?? null))
    return { finished: true, topic: job.topic, status: 'completed', result, error: null, masked: [] }
  }

  #ask(path: string, input: unknown): unknown {
    const answer = this.#answers[path]
    if (answer) return answer(input as never)
    throw new OncueError('INVALID_STATE', `The test client has no response for ${path}`, {
      hint: `Pass createTestClient answers: { '${path}': (input) => … }.`,
    })
  }
}

/** Without undefined values, as it would be sent. */
function present(item: EnqueueItem): EnqueueItem {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined)) as EnqueueItem
}
