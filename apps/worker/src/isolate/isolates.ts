import { type ChildProcess, fork, spawn } from 'node:child_process'
import { type Isolation, isOncueError, OncueError } from '@oncue/core'
import { asSignal } from '@oncue/core/internal'
import { type ClaimedJob, type Store, whileMarked } from '@oncue/db'
import { type Runtime, withTimeout } from '@oncue/runtime'
import { environmentFor } from '../config.ts'
import { ownFile, ownText } from '../own-code.ts'
import type { RunContext } from '../run/context.ts'
import { isUndoing } from '../run/durable/undo.ts'
import type { Called, Calls, CommitsOf, FromChild, ToChild } from './messages.ts'
import { type PackedError, packError, unpackError } from './packed-error.ts'

/** An isolated run. */
export interface Isolated {
  readonly result: Promise<unknown>
  /** False: what it did last may not have been told. */
  readonly isAlive: boolean
  kill(): void
}

/** Of the worker: for the commits of handlers. */
interface Around {
  readonly store: Pick<Store, 'dialect' | 'schema' | 'durable' | 'lead' | 'stepDown'>
  readonly worker: string | undefined
  readonly runtime: Runtime
}

/** The child processes of isolated runs. They are reused, since starting one takes long. */
export class Isolates {
  readonly #modules: readonly string[]
  readonly #around: Around
  readonly #processes = new Set<IsolateProcess>()
  /** By memory limit and environment, which a running process cannot change. */
  readonly #idle = new Map<string, IsolateProcess[]>()

  constructor(modules: readonly string[], around: Around) {
    this.#modules = modules
    this.#around = around
  }

  start(job: ClaimedJob, context: RunContext, isolation: Isolation): Isolated {
    const { memoryMb, env = [] } = isolation
    const kind = JSON.stringify([memoryMb, env.toSorted()])
    const idle = this.#idle.get(kind) ?? []
    this.#idle.set(kind, idle)
    const child = this.#takeAlive(idle) ?? new IsolateProcess(this.#modules, isolation, this.#around)
    this.#processes.add(child)
    const reuse = () => {
      if (child.isAlive) idle.push(child)
      else this.#processes.delete(child)
    }
    const result = child.run(job, context)
    // The undos of a job that is being undone run in it after its handler.
    if (isUndoing(job)) void child.closed.then(reuse)
    else result.then(reuse, reuse)
    return {
      result,
      get isAlive() {
        return child.isAlive
      },
      kill: () => child.kill(),
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#processes].map((child) => child.stop()))
  }

  #takeAlive(idle: IsolateProcess[]): IsolateProcess | undefined {
    for (;;) {
      const child = idle.pop()
      if (!child || child.isAlive) return child
      this.#processes.delete(child)
    }
  }
}

const STOP_MS = 2_000

interface Current {
  readonly seq: number
  readonly context: RunContext
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** A child process for isolated runs, one at a time, as the worker sees it. */
class IsolateProcess {
  readonly #process: ChildProcess
  readonly #memoryMb: number | undefined
  readonly #around: Around
  /** It has ended. */
  readonly closed: Promise<void>
  #isAlive = true
  #current: Current | undefined
  #seq = 0
  /** Its uncaught error. */
  #uncaught: Error | undefined
  #undos = 0
  /** Attempts of undos that are under way. */
  readonly #undoing = new Map<number, { resolve(): void; reject(error: unknown): void }>()
  /** Removes the rows that it looks for. */
  readonly #marks = new Map<string, () => void>()

  constructor(modules: readonly string[], { memoryMb, env = [] }: Isolation, around: Around) {
    this.#around = around
    this.#memoryMb = memoryMb
    const flags = [...inheritedFlags(), ...(memoryMb ? [`--max-old-space-size=${memoryMb}`] : [])]
    this.#process = startChild(flags, [JSON.stringify(modules), String(process.pid)], environmentFor(env))
    this.#process.on('message', (message) => this.#receive(message as FromChild))
    this.closed = new Promise((resolve) => {
      // A process that could not be started emits 'error', any other 'close'. 'exit' may come before the last message.
      this.#process.on('error', (error) => resolve(this.#die(`could not be started: ${error.message}`)))
      this.#process.once('close', (code, signal) => resolve(this.#die(this.#exitReason(code, signal))))
    })
  }

  get isAlive(): boolean {
    return this.#isAlive && this.#process.connected
  }

  async run(job: ClaimedJob, context: RunContext): Promise<unknown> {
    this.#seq += 1
    const seq = this.#seq
    const { signal } = context
    const abort = () => {
      if (isOncueError(signal.reason)) {
        this.#send({ kind: 'abort', seq, code: signal.reason.code, message: signal.reason.message })
      }
    }
    try {
      return await new Promise((resolve, reject) => {
        this.#current = { seq, context, resolve, reject }
        this.#send({ kind: 'start', seq, job, commits: this.#commits() })
        if (signal.aborted) abort()
        else signal.addEventListener('abort', abort)
      })
    } finally {
      // A handler that is being undone may end before its undos have run.
      if (!isUndoing(job)) {
        signal.removeEventListener('abort', abort)
        this.#current = undefined
      }
    }
  }

  #commits(): CommitsOf {
    const { store, worker } = this.#around
    return { dialect: store.dialect, schema: store.schema, aheadMs: store.durable.aheadMs(), worker }
  }

  /** The work of an undo, which stayed with its handler. */
  async #undo(name: string, signal: AbortSignal): Promise<void> {
    this.#undos += 1
    const undo = this.#undos
    const abort = () => this.#send({ kind: 'abort-undo', undo, error: packError(signal.reason, '') })
    signal.addEventListener('abort', abort)
    try {
      await new Promise<void>((resolve, reject) => {
        if (!this.isAlive) throw this.#crashed('has ended')
        this.#undoing.set(undo, { resolve, reject })
        this.#send({ kind: 'undo', undo, name })
      })
    } finally {
      signal.removeEventListener('abort', abort)
      this.#undoing.delete(undo)
    }
  }

  kill(): void {
    // At once: it may still return before it is gone, and must not get another run then.
    this.#isAlive = false
    this.#process.kill('SIGKILL')
  }

  /** Asks it to end, and kills it if it does not. Does not disconnect: 'close' is not emitted after that. */
  stop(): Promise<void> {
    this.#send({ kind: 'stop' })
    return this.#end()
  }

  /** A run that ends by itself releases what it holds before. */
  async #release(seq: number): Promise<void> {
    if (!this.isAlive || this.#current?.seq !== seq) return
    this.#isAlive = false
    this.#send({ kind: 'release', seq })
    await this.#end()
  }

  async #end(): Promise<void> {
    const kill = () => {
      this.kill()
      return this.closed
    }
    await withTimeout(this.closed, STOP_MS, kill, this.#around.runtime)
  }

  #receive(message: FromChild): void {
    const current = this.#current
    if (message.kind === 'uncaught') this.#uncaught = unpackError(message.error)
    else if (message.kind === 'undone') {
      const attempt = this.#undoing.get(message.undo)
      if (message.error) attempt?.reject(unpackError(message.error))
      else attempt?.resolve()
    } else if (message.kind === 'unmark') this.#marks.get(message.mark)?.()
    else if (message.seq !== current?.seq) this.#receiveLate(message)
    else if (message.kind === 'returned') current.resolve(message.result && JSON.parse(message.result))
    else if (message.kind === 'threw') current.reject(unpackError(message.error))
    else if (message.kind === 'call') void this.#perform(message.call, current.context, message)
    else if (message.method === 'progress') current.context.progress(message.args[0])
    else if (message.method === 'hold') current.context.defer(() => this.#release(current.seq))
    else if (message.method === 'unstored') receiveUnstored(current.context, ...message.args)
    else {
      const [level, text, fields] = message.args
      current.context.log[level](text, { ...fields })
    }
  }

  /** A call of a run that is over must not wait for ever. */
  #receiveLate(message: Exclude<FromChild, { kind: 'uncaught' | 'undone' | 'unmark' }>): void {
    if (message.kind !== 'call') return
    const error = packError(
      new OncueError('STALE_RUN', 'this run has ended; its context can no longer write'),
      '',
    )
    this.#send({ kind: 'error', call: message.call, error })
  }

  async #perform(call: number, context: RunContext, { method, args }: Called): Promise<void> {
    try {
      if (method === 'undo') {
        const [name, options] = args
        const work = (signal: AbortSignal) => this.#undo(name, signal)
        this.#send({ kind: 'result', call, value: await context.durable.undos.register(name, work, options) })
        return
      }
      if (method === 'mark') return await this.#mark(call)
      // Method and arguments match; the compiler cannot infer that from a union.
      const perform = CALLS[method] as (context: RunContext, ...args: unknown[]) => Promise<unknown>
      this.#send({ kind: 'result', call, value: await perform(context, ...args) })
    } catch (error) {
      this.#send({ kind: 'error', call, error: packError(error, context.job.topic) })
    }
  }

  /** Answers a call with the name of a row, which stays until the process has looked for it. */
  #mark(call: number): Promise<void> {
    const { store, runtime } = this.#around
    return whileMarked(store, runtime, async (mark) => {
      const looked = new Promise<void>((resolve) => this.#marks.set(mark, resolve))
      this.#send({ kind: 'result', call, value: mark })
      await Promise.race([looked, this.closed])
      this.#marks.delete(mark)
    })
  }

  #send(message: ToChild): void {
    // A closed channel is noticed when the process ends.
    this.#process.send(message, () => {})
  }

  #die(how: string): void {
    this.#isAlive = false
    const error = this.#crashed(how)
    this.#current?.reject(error)
    for (const { reject } of this.#undoing.values()) reject(error)
  }

  /** Not to be repeated by the undo that meets it: another process has to repeat the handler before. */
  #crashed(how: string): Error {
    const options = this.#uncaught ? { cause: this.#uncaught } : {}
    const error = new OncueError('WORKER_CRASHED', `the child process of this run ${how}`, options)
    return this.#undoing.size > 0 ? asSignal(error, { kind: 'suspend' }) : error
  }

  #exitReason(code: number | null, signal: NodeJS.Signals | null): string {
    if (signal === null) return `ended with exit code ${code}`
    const limit = this.#memoryMb === undefined ? '' : ` of ${this.#memoryMb} MB`
    // These are how V8 ends a process that is out of memory, in Node and in Deno.
    const why =
      signal === 'SIGABRT' || signal === 'SIGTRAP'
        ? `, perhaps because it reached its memory limit${limit}`
        : ''
    return `was killed by ${signal}${why}`
  }
}

function startChild(flags: readonly string[], args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  // JSON would turn a Date into text.
  const options = { env, serialization: 'advanced' } as const
  const file = ownFile('isolate/child')
  if (file) return fork(file, [...args], { ...options, execArgv: [...flags] })
  const argv = [...flags, '--input-type=module', '-', ...args]
  const child = spawn(process.execPath, argv, { ...options, stdio: ['pipe', 'inherit', 'inherit', 'ipc'] })
  // Closed by a child that has ended: 'close' tells of it.
  child.stdin?.on('error', () => {})
  ownText('isolate/child').then(
    (text) => child.stdin?.end(text),
    (error) => void child.emit('error', error),
  )
  return child
}

function receiveUnstored(context: RunContext, step: string, packed: PackedError): void {
  const error = unpackError(packed)
  if (isOncueError(error)) context.durable.steps.unstored(step, error)
}

const CALLS: {
  [Method in Exclude<keyof Calls, 'undo' | 'mark'>]: (
    context: RunContext,
    ...args: Parameters<Calls[Method]>
  ) => unknown
} = {
  checkpoint: (context, cursor) => context.checkpoint(cursor),
  emit: (context, type, data) => context.emit(type, data),
  tell: (context, type, data) => context.tell(type, data),
  make: (context, key, topic, payload, options) => context.make(key, topic, payload, options),
  settled: (context, children) => context.durable.children.settled(children),
  waitedForPage: (context, after) => context.waitedForPage(after),
  beginStep: (context, name) => context.durable.steps.begin(name),
  finishStep: (context, name, result, isTold) => context.durable.steps.finish(name, result, isTold),
  failStep: (context, name, error) => context.durable.steps.fail(name, unpackError(error)),
  pauseStep: (context, name, attempt, delayMs, error, isTold) =>
    context.durable.steps.pause(name, attempt, delayMs, unpackError(error), isTold),
  beginCommit: (context, name) => context.durable.steps.beginCommit(name),
  endCommit: (context, name, isSent) => context.durable.steps.endCommit(name, isSent),
  pauseCommit: (context, ms) => context.durable.steps.pauseCommit(ms),
  beginComplete: (context) => context.beginComplete(),
  sleep: (context, name, until) => context.durable.waits.sleep(name, until),
  since: (context, change) => context.durable.changes.since(change),
  receive: (context, name, options) => context.durable.waits.receive(name, options),
  ask: (context, name, request, refused) => context.durable.waits.ask(name, request, refused),
}

/** Flags that a child must not inherit and whose argument may be a word of its own: code to run, and files of secrets. */
const WITH_ARGUMENT = new Set([
  ...['-e', '--eval', '-p', '--print', '--input-type'],
  ...['--env-file', '--env-file-if-exists'],
])
/** Flags for one process only: a debugger's port, a profile, the parent's limits and variables. */
const OWN = /^--(inspect|cpu-prof|heap-prof|prof|max-old-space-size|max_old_space_size|watch|test|env-file)/

/** The flags of Node that a child needs to load the modules of its parent: loaders, conditions. */
export function inheritedFlags(flags: readonly string[] = process.execArgv): string[] {
  return flags.filter((flag, i) => {
    const before = flags[i - 1]
    return !OWN.test(flag) && !WITH_ARGUMENT.has(flag) && !(before && WITH_ARGUMENT.has(before))
  })
}
