import {
  type EnqueueOptions,
  type InputOf,
  isOncueError,
  type JobDefinition,
  type JobDefinitions,
  type JobId,
  type NewJob,
  OncueError,
  prepareJob,
  type SignalInputs,
  type TopicOf,
} from '@oncue/core'
import {
  checkSignal,
  encodeSignal,
  refuseKeys,
  refuseKeysOfNodes,
  toBatch,
  toFlow,
  unknownTopic,
} from '@oncue/core/internal'
import type { Batched } from '@oncue/core/wire'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import type { EnqueueIn } from '../store.ts'
import { jobIdsOf } from '../uuid.ts'
import { type Hosts, toHome } from './hosts.ts'
import { isSqlite } from './transaction.ts'

/** The definitions, and the connection of the service. */
export type QueueOptions<Jobs extends JobDefinitions> = {
  /** From `defineJobs`: which topics there are, and what fits them. */
  readonly jobs: Jobs
  /** Which of several installations in the database. Default: oncue, or the one of the store. */
  readonly schema?: string | undefined
  /** For tests: replaces the host's clock and chance. */
  readonly runtime?: Runtime | undefined
} & {
  [One in keyof Hosts]: Pick<Hosts, One> & { readonly [Other in Exclude<keyof Hosts, One>]?: undefined }
}[keyof Hosts]

/** One of many: its topic, its payload, and what else `enqueue` takes as options. */
export type QueuedJob<Jobs extends JobDefinitions> = Queued<Jobs>[TopicOf<Jobs>]

/** What fits one topic. */
interface JobOf<Topic, Payload> extends EnqueueOptions {
  readonly topic: Topic
  readonly payload: Payload
}

// Keyed by topic, and in methods, so that the compiler accepts a queue of all jobs as one of some of them.
type Queued<Jobs extends JobDefinitions> = {
  readonly [Topic in TopicOf<Jobs>]: JobOf<Topic, InputOf<Jobs, Topic>>
}
type Inputs<Jobs extends JobDefinitions> = { readonly [Topic in TopicOf<Jobs>]: InputOf<Jobs, Topic> }

/** Apart, because the compiler cannot say by the definitions alone which queue is one of some of them. */
type Signalling<Jobs extends JobDefinitions> = {
  /**
   * Sends a signal to a live job, which waits for it with `ctx.receive`, or will: it is kept until then. Refused, before
   * anything is written: UNKNOWN_SIGNAL, INVALID_SIGNAL, JOB_NOT_FOUND, JOB_FINISHED.
   */
  signal<Name extends keyof SignalInputs<Jobs> & string>(
    id: JobId,
    name: Name,
    data: SignalInputs<Jobs>[Name],
    options?: SignalOptions,
  ): Promise<void>
}

/**
 * Enqueues straight into the database, without an API in between. An invalid job is refused before any
 * statement is sent. With `tx` the jobs belong to your transaction, as `Store.enqueue` says; without, to one
 * of their own. On a better-sqlite3 connection everything has happened, or thrown, before the call returns.
 */
export type Queue<Jobs extends JobDefinitions> = Signalling<Jobs> & {
  /** The definitions that it was given. A queue of all jobs is also one of some of them. */
  readonly jobs: Jobs

  /** Returns the id of the job: the new one, or the one that holds its key already. */
  enqueue<Topic extends keyof Jobs & string>(
    topic: Topic,
    payload: Inputs<Jobs>[Topic],
    options?: EnqueueOptions & EnqueueIn,
  ): Promise<JobId>

  /** All or none. Returns the ids in the same order. */
  enqueueMany<Topic extends keyof Jobs & string>(
    jobs: readonly Queued<Jobs>[Topic][],
    options?: EnqueueIn,
  ): Promise<JobId[]>

  /**
   * Enqueues jobs and, in the same transaction, what follows them: `then` runs when all of them have completed, `onFailure`
   * once when all have ended and some have not completed; if all have, it is cancelled. In both, `ctx.waitedFor()` reads the
   * results. All or none, up to 10,000 jobs. Ids in the same order.
   */
  batch<Topic extends keyof Jobs & string, Next extends keyof Jobs & string>(
    jobs: readonly Queued<Jobs>[Topic][],
    after: AfterBatch<
      Followers<Jobs>[Next],
      Followers<Jobs>[Next] & { readonly onParentFailure?: undefined }
    > &
      EnqueueIn,
  ): Promise<Batched>

  /**
   * Enqueues jobs that wait for each other, all or none: each edge is `[from, to]`, the names of two nodes, and `to` starts
   * when `from` has completed. Returns the ids by name. A cycle is refused with DEPENDENCY_CYCLE before anything is written.
   */
  flow<const Nodes extends { readonly [name: string]: Queued<Jobs>[keyof Jobs & string] }>(
    flow: {
      readonly nodes: Nodes
      readonly edges?: readonly EdgeOf<keyof Nodes & string>[] | undefined
    },
    options?: EnqueueIn,
  ): Promise<{ readonly [Name in keyof Nodes]: JobId }>
}

/** A job that waits for all jobs of a batch: it can have no key, which may stand for a job that does not. */
type Followers<Jobs extends JobDefinitions> = {
  readonly [Topic in TopicOf<Jobs>]: FollowerOf<Topic, InputOf<Jobs, Topic>>
}

interface FollowerOf<Topic, Payload> extends Omit<EnqueueOptions, 'after' | 'unique' | 'idempotencyKey'> {
  readonly topic: Topic
  readonly payload: Payload
}

/** What follows a batch: at least one of the two. */
type AfterBatch<Then, OnFailure> =
  | { readonly then: Then; readonly onFailure?: OnFailure | undefined }
  | { readonly then?: Then | undefined; readonly onFailure: OnFailure }

/** From one node to another. */
type EdgeOf<Name extends string> = {
  [From in Name]: readonly [from: From, to: Exclude<Name, From>]
}[Name]

interface SignalOptions extends EnqueueIn {
  /** Of several signals with the same name and key, the job gets one. */
  readonly key?: string | undefined
}

/** A queue on the connection that your service has: `prisma`, `pool`, `sqlite`, `transaction` or `store`. Sends nothing until the first call. */
export function createQueue<const Jobs extends JobDefinitions>(options: QueueOptions<Jobs>): Queue<Jobs> {
  const { jobs, database } = options
  const { runtime = systemRuntime } = options
  const home = toHome(options, runtime)
  const newId = jobIdsOf(runtime)

  function prepare(topic: string, payload: unknown, rest: EnqueueOptions): NewJob {
    // Absent options are not parsed: that takes 0.6 µs a job.
    return prepareJob(topic, payload, isEmpty(rest) ? undefined : rest, definitionOf(topic), newId)
  }

  const prepareQueued = ({ topic, payload, ...rest }: AnyJob) => prepare(topic, payload, rest)
  const prepareFollower = (at: string, job: AnyJob) => {
    refuseKeys(at, job)
    return naming(at, () => prepareQueued(job))
  }
  const prepareMany = (many: readonly AnyJob[]) =>
    many.map((job, i) => naming(`jobs[${i}]`, () => prepareQueued(job)))

  function definitionOf(topic: string): JobDefinition {
    const definition = Object.hasOwn(jobs, topic) ? jobs[topic] : undefined
    if (definition) return definition
    throw unknownTopic(topic, 'is not defined in the jobs of this queue', Object.keys(jobs))
  }

  function send({ tx }: EnqueueIn, make: () => NewJob[]): Promise<JobId[]> {
    return inTurn(tx, () => {
      const made = make()
      if (made.length === 0) return Promise.resolve([])
      return tx === undefined ? home.alone(made) : home.within(tx, made)
    })
  }

  function inTurn<T>(tx: EnqueueIn['tx'], write: () => Promise<T>): Promise<T> {
    const connection = tx ?? database
    // A transaction of better-sqlite3 ends when its function returns: a promise would reject too late.
    if (typeof connection === 'object' && connection !== null && isSqlite(connection)) return write()
    return Promise.resolve().then(write)
  }

  return {
    jobs,
    enqueue(topic, payload, options) {
      const { tx, ...rest } = options ?? {}
      return send({ tx }, () => [prepare(topic, payload, rest)]).then(([id = '']) => id)
    },
    enqueueMany(many, options = {}) {
      return send(options, () => prepareMany(many))
    },
    batch(many, { tx, then, onFailure }) {
      let made: NewJob[] = []
      const follow = (at: string, follower: AnyJob | undefined) => follower && prepareFollower(at, follower)
      const make = () => {
        made = toBatch(prepareMany(many), follow('then', then), follow('onFailure', onFailure))
        return made
      }
      return send({ tx }, make).then((ids) => batchedOf(made, ids))
    },
    flow({ nodes, edges = [] }, { tx } = {}) {
      const entries = Object.entries<AnyJob>(nodes)
      const names = entries.map(([name]) => name)
      const make = () => {
        refuseKeysOfNodes(nodes, edges)
        const jobs = entries.map(
          ([name, node]) => [name, naming(`nodes.${name}`, () => prepareQueued(node))] as const,
        )
        return toFlow(new Map(jobs), edges)
      }
      const byName = (ids: readonly JobId[]) => Object.fromEntries(names.map((name, n) => [name, ids[n]]))
      return send({ tx }, make).then((ids) => byName(ids) as never)
    },
    signal(id, name, data, { tx, key } = {}) {
      return inTurn(tx, () => {
        const text = encodeSignal(data)
        const check = (topic: string) => checkSignal(definitionOf(topic), topic, name, text)
        return home.signal({ id, name, data: text, key, check }, tx)
      })
    },
  }
}

/** For the rest of a pattern, which has no inherited properties. */
function isEmpty(rest: object): boolean {
  for (const _ in rest) return false
  return true
}

type AnyJob = { readonly topic: string; readonly payload?: unknown } & EnqueueOptions

/** The ids of a batch by what the jobs are in it. */
function batchedOf(made: readonly NewJob[], ids: readonly JobId[]): Batched {
  const idOf = (kind: string) => ids[made.findIndex(({ flow }) => flow?.kind === kind)] ?? null
  return {
    ids: ids.filter((_, n) => made[n]?.flow?.kind === 'job'),
    thenId: idOf('then'),
    onFailureId: idOf('on_failure'),
  }
}

/** Says which of many was refused. */
function naming(at: string, make: () => NewJob): NewJob {
  try {
    return make()
  } catch (cause) {
    if (!isOncueError(cause)) throw cause
    const { code, message, hint, details } = cause
    throw new OncueError(code, `${at}: ${message}`, { cause, hint, details })
  }
}
