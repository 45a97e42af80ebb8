import {
  type JobContext,
  type JobLog,
  OncueError,
  type RunningJob,
  type StepOptions,
  type Worker,
} from '@oncue/core'
import { encodeJson, encodeProgress, parsePayload, toRegistry } from '@oncue/core/internal'
import type { ClaimedJob } from '@oncue/db'
import { systemRuntime } from '@oncue/runtime'
import { ownCode } from '../own-code.ts'
import { createAsk } from '../run/ask.ts'
import { Deferred } from '../run/deferred.ts'
import { SpawnKeys, spawnedChildren, spawnWith, valuesOf } from '../run/durable/spawn-calls.ts'
import { isUndoing } from '../run/durable/undo.ts'
import { assertUndo } from '../run/durable/undo-calls.ts'
import { createJobLog } from '../run/job-log.ts'
import { setUpModules } from '../run/module-hooks.ts'
import { loadModules } from '../run/modules.ts'
import { ownTransactions } from '../run/own-transactions.ts'
import { assertNotInCommit, assertNotNested, createSteps, runWithin, type Work } from '../run/steps.ts'
import { unawaited } from '../run/unawaited.ts'
import { inPages } from '../run/waited-for.ts'
import type { ChildCommits, CommitsLine } from './child-commits.ts'
import type { Called, Calls, CommitsOf, FromChild, ToChild, Told } from './messages.ts'
import { packError, unpackError } from './packed-error.ts'
import { UnderWay } from './under-way.ts'

// A process for isolated runs, one at a time. It talks only to its parent, the worker.
const [modules = '[]', parentPid = '0'] = process.argv.slice(2)

// Ctrl-C reaches the whole process group. The parent decides when to stop.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('disconnect', () => process.exit())
process.on('uncaughtException', (error) => {
  const message: FromChild = { kind: 'uncaught', error: packError(error, '') }
  if (!process.send?.(message, undefined, undefined, () => process.exit(1))) process.exit(1)
})
void watchParent()

let loading: ReturnType<typeof load> | undefined
let current: { readonly seq: number; readonly context: ChildContext } | undefined
let calls = 0
const waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>()

process.on('message', (message: ToChild) => {
  switch (message.kind) {
    case 'start':
      run(message).then(send, (error) =>
        send({ kind: 'threw', seq: message.seq, error: packError(error, message.job.topic) }),
      )
      break
    case 'abort':
      if (current?.seq === message.seq) current.context.abort(new OncueError(message.code, message.message))
      break
    case 'release':
      if (current?.seq === message.seq) void current.context.release().finally(() => process.exit())
      break
    case 'undo':
      void undo(message)
      break
    case 'abort-undo':
      undoing.get(message.undo)?.abort(unpackError(message.error))
      break
    case 'stop':
      void close().finally(() => process.exit())
      break
    case 'result':
      waiting.get(message.call)?.resolve(message.value)
      waiting.delete(message.call)
      break
    case 'error':
      waiting.get(message.call)?.reject(unpackError(message.error))
      waiting.delete(message.call)
      break
  }
})

/** Of the attempts of undos. */
const undoing = new Map<number, AbortController>()

async function undo({ undo: attempt, name }: Extract<ToChild, { kind: 'undo' }>): Promise<void> {
  const controller = new AbortController()
  undoing.set(attempt, controller)
  try {
    await current?.context.runUndo(name, controller.signal)
    send({ kind: 'undone', undo: attempt })
  } catch (error) {
    send({ kind: 'undone', undo: attempt, error: packError(error, current?.context.job.topic ?? '') })
  } finally {
    undoing.delete(attempt)
  }
}

async function run({ seq, job, commits }: Extract<ToChild, { kind: 'start' }>): Promise<FromChild> {
  loading ??= load()
  const { registry } = await loading
  const worker = registry.get(job.topic)
  if (!worker) throw new OncueError('UNKNOWN_TOPIC', `no module of this worker handles ${job.topic}`)
  const payload = parsePayload(worker.definition.input, job.payload, job.topic)
  const running: RunningJob = { ...job, payload }
  const createCommits = await commitsFor(worker, job, commits)
  const context = new ChildContext(running, worker, createCommits, {
    tell: (told) => send({ kind: 'tell', seq, ...told }),
    call: (called) =>
      new Promise((resolve, reject) => {
        calls += 1
        waiting.set(calls, { resolve, reject })
        send({ kind: 'call', seq, call: calls, ...called })
      }),
    unmark: (mark) => send({ kind: 'unmark', mark }),
  })
  current = { seq, context }
  const handle = () => worker.handler(running, context)
  // What the handler has made and holds is there for its undos.
  const handled = isUndoing(job) ? (async () => handle())() : context.during(handle)
  const value = await handled.catch(async (error) => {
    throw context.commits ? await context.commits.whyFailed(error) : error
  })
  try {
    return { kind: 'returned', seq, result: value === undefined ? undefined : encodeJson(value, 'result') }
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : 'the result cannot be read'
    const { error } = packError(new OncueError('INVALID_RESULT', message, { cause }), job.topic)
    return { kind: 'threw', seq, error: { error, signal: { kind: 'permanent' } } }
  }
}

/** Undefined without transactions: it is slow to load. */
async function commitsFor(
  { definition, transactions }: Worker,
  job: ClaimedJob,
  of: CommitsOf,
): Promise<CreateCommits | undefined> {
  if (!transactions) return undefined
  const { ChildCommits } = await import('./child-commits.ts')
  return (line) => new ChildCommits(job, definition, transactions, of, line)
}

type CreateCommits = (line: CommitsLine) => ChildCommits

/** Instead of the worker's logger, which is slow to load. */
const quiet = { error() {} }

async function load() {
  try {
    const { workers, hooks } = await loadModules(JSON.parse(modules), process.cwd())
    const closeModules = await setUpModules(hooks, quiet)
    return { registry: toRegistry(...workers), closeModules }
  } catch (error) {
    // The next run tries again: whatever setup needs may be available by then.
    loading = undefined
    throw error
  }
}

/** May take long: the parent kills this process then. */
async function close(): Promise<void> {
  const loaded = await loading?.catch(() => undefined)
  await loaded?.closeModules()
}

function send(message: FromChild): void {
  process.send?.(message)
}

/** In a thread of its own: a handler in an endless loop blocks this one. */
async function watchParent(): Promise<void> {
  const code = await ownCode('isolate/watch-parent')
  systemRuntime.thread(code, { name: 'oncue parent watch', data: Number(parentPid) }).unref()
}

/** The connection to the context in the parent, which does all the work. */
interface Line {
  tell(told: Told): void
  call(called: Called): Promise<unknown>
  unmark(mark: string): void
}

/**
 * The `ctx` of an isolated handler. Values become JSON here, because the channel would clone an object without calling
 * its toJSON.
 */
class ChildContext implements JobContext {
  readonly job: RunningJob
  readonly attempt: number
  readonly signal: AbortSignal
  readonly log: JobLog
  readonly progress: JobContext['progress']
  readonly step: JobContext['step']
  readonly plan: JobContext['plan']
  readonly node: JobContext['node']
  readonly tool: JobContext['tool']
  readonly commit: JobContext['commit']
  readonly complete: JobContext['complete']
  readonly sleep: JobContext['sleep']
  readonly receive: JobContext['receive']
  readonly since: JobContext['since']
  readonly defer: JobContext['defer']
  readonly undo: JobContext['undo']
  readonly ask: JobContext['ask']
  readonly checkpoint: JobContext['checkpoint']
  readonly emit: JobContext['emit']
  readonly spawn: JobContext['spawn']
  readonly all: JobContext['all']
  readonly allSettled: JobContext['allSettled']
  readonly waitedFor: JobContext['waitedFor']
  readonly enqueue: JobContext['enqueue']
  readonly commits: ChildCommits | undefined
  readonly #controller = new AbortController()
  readonly #held = new Deferred()
  readonly #undos = new Map<string, Work>()
  #isOver = false

  constructor(job: RunningJob, { definition }: Worker, createCommits: CreateCommits | undefined, line: Line) {
    const call = <Method extends keyof Calls>(method: Method, ...args: Parameters<Calls[Method]>) =>
      line.call({ method, args } as Called) as ReturnType<Calls[Method]>

    this.job = job
    this.attempt = job.retries + job.crashes + 1
    this.signal = this.#controller.signal
    this.log = toldLog(line)
    this.progress = (value) => {
      const text = encodeProgress(definition.progress, value, job.topic)
      line.tell({ method: 'progress', args: [JSON.parse(text)] })
    }
    const isEnding = () => this.#isOver || this.signal.aborted
    const underWay = new UnderWay()
    const running = new Map<string, () => void>()
    const ended = (name: string) => {
      running.get(name)?.()
      running.delete(name)
    }
    const record = {
      begin: (name: string) => call('beginStep', name),
      fail: (name: string, error: unknown) => call('failStep', name, packError(error, job.topic)),
      get isEnding() {
        return isEnding()
      },
    }
    const steps = createSteps(
      {
        begin: async (name) => {
          const begun = await underWay.during('step', name, () => record.begin(name))
          if (!('result' in begun)) running.set(name, underWay.begin('step', name))
          return begun
        },
        finish: (name, text, isTold) => call('finishStep', name, text, isTold).finally(() => ended(name)),
        pause: (name, attempt, delayMs, error, isTold) =>
          call('pauseStep', name, attempt, delayMs, packError(error, job.topic), isTold),
        fail: (name, error) => record.fail(name, error).finally(() => ended(name)),
        unstored: (name, error) => {
          ended(name)
          line.tell({ method: 'unstored', args: [name, packError(error, job.topic)] })
        },
        signal: this.signal,
        get isEnding() {
          return isEnding()
        },
      },
      systemRuntime,
      (type, data) => call('tell', type, data),
    )
    const undo = async (name: string, work: Work, options: StepOptions) => {
      assertUndo(name, work, options)
      // The first one of a name stands; the worker refuses the second.
      if (!this.#undos.has(name)) this.#undos.set(name, work)
      await underWay.during('undo', name, () => call('undo', name, options))
    }
    this.undo = (name, work, options = {}) => unawaited(undo(name, work, options))
    this.step = steps.step
    this.plan = steps.plan
    this.node = steps.node
    this.tool = steps.tool
    this.commits = createCommits?.({
      record: Object.assign(record, {
        beginCommit: (name: string) => call('beginCommit', name),
        endCommit: (name: string, isSent: boolean) => call('endCommit', name, isSent),
        pauseCommit: (ms: number) => call('pauseCommit', ms),
      }),
      underWay,
      assertMine: () => this.#assertMine(),
      beginComplete: () => call('beginComplete'),
      mark: () => call('mark'),
      unmark: (mark) => line.unmark(mark),
    })
    const refuse = (call: 'commit' | 'complete') => () =>
      unawaited((async () => void ownTransactions(undefined, call))())
    this.commit = this.commits?.commit ?? refuse('commit')
    this.complete = this.commits?.complete ?? refuse('complete')
    const sleep = async (...args: Parameters<JobContext['sleep']>) => {
      assertNotNested('sleep')
      return call('sleep', ...args)
    }
    const receive = async (name: string, options?: object) => {
      assertNotNested('receive')
      return call('receive', name, options)
    }
    const since = async (change: string) => {
      assertNotNested('since')
      return call('since', change)
    }
    this.since = (change) => unawaited(since(change))
    this.sleep = (...args) => unawaited(sleep(...args))
    this.receive = ((name: string, options?: object) =>
      unawaited(receive(name, options))) as JobContext['receive']
    this.defer = (release) => {
      if (this.#held.isEmpty) line.tell({ method: 'hold', args: [] })
      this.#held.add(release)
    }
    this.ask = createAsk((name, request, refused) => call('ask', name, request, refused), job.topic)
    const checkpoint = async (cursor: unknown) => {
      assertNotInCommit('checkpoint')
      return call('checkpoint', toJson(cursor, 'cursor'))
    }
    const emit = async (type: string, data: unknown) => {
      assertNotInCommit('emit')
      return call('emit', type, data === undefined ? data : toJson(data, 'event'))
    }
    this.checkpoint = (cursor) => unawaited(checkpoint(cursor))
    this.emit = (type, data) => unawaited(emit(type, data))
    const keys = new SpawnKeys()
    const make = (key: string, topic: string, payload: unknown, options: object) => {
      const made = async () => call('make', key, topic, toJson(payload, 'payload'), options)
      const [kind = ''] = key.split(':', 1)
      return underWay.during(kind, key.slice(kind.length + 1), made)
    }
    this.spawn = (topic, payload, options = {}) =>
      spawnWith(keys, topic, options.name, (key) => make(key, topic, payload, options))
    this.enqueue = async (topic, payload, options = {}) =>
      make(keys.next('enqueue', topic, options.name), topic, payload, options)
    this.waitedFor = (topic?: string) => inPages((after) => call('waitedForPage', after), topic)
    const settled = async (children: unknown, method: string) =>
      call('settled', await spawnedChildren(children, method))
    const all = async (children: unknown) => valuesOf(await settled(children, 'all'))
    this.all = ((children: unknown) => unawaited(all(children))) as JobContext['all']
    this.allSettled = ((children: unknown) =>
      unawaited(settled(children, 'allSettled'))) as JobContext['allSettled']
  }

  /** From the end of the handler on, the run is over. */
  async during(handle: () => unknown): Promise<unknown> {
    try {
      return await handle()
    } finally {
      this.#isOver = true
      await this.release()
    }
  }

  async runUndo(name: string, signal: AbortSignal): Promise<void> {
    await runWithin('step', name, () => this.#undos.get(name)?.(signal))
  }

  release(): Promise<void> {
    return this.#held.run((error) => this.log.error('a function given to ctx.defer failed', { error }))
  }

  abort(reason: OncueError): void {
    this.#controller.abort(reason)
  }

  #assertMine(): void {
    if (!this.#isOver) return
    const { id, run } = this.job
    throw new OncueError('STALE_RUN', `run ${run} of job ${id} has ended; its context can no longer write`)
  }
}

function toJson(value: unknown, kind: Parameters<typeof encodeJson>[1]): unknown {
  return JSON.parse(encodeJson(value, kind))
}

/** Fields become plain JSON here; the parent writes the lines. */
function toldLog(line: Line): JobLog {
  const tell = (level: keyof JobLog) => (fields: object, message: string) =>
    line.tell({ method: 'log', args: [level, message, fields] })
  const log = {
    debug: tell('debug'),
    info: tell('info'),
    warn: tell('warn'),
    error: tell('error'),
    child: () => log,
  }
  return createJobLog(log, () => {})
}
