import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type EnqueueOptions, type JobId, type NewJob, prepareJob } from '@oncue/core'
import { type OpenOptions, openStore, type Store } from '@oncue/db'
import { createDatabase, DIALECTS, type Dialect, type TestDatabase } from '@oncue/db/testing'
import { afterEach, beforeEach, describe } from 'vitest'
import { type Logger, type RunningWorker, startWorker, type WorkerOptions } from '../src/index.ts'
import type { FromProcess, Said, ToProcess } from './worker-process.ts'

export { Gate, nap, until } from '@oncue/testing'

/** The same specification on both databases. */
export function describeBoth(title: string, body: (bench: Bench) => void): void {
  for (const dialect of DIALECTS) {
    describe(`${title}, on ${dialect}`, () => body(new Bench(dialect)))
  }
}

export function describePostgres(title: string, body: (bench: Bench) => void): void {
  describe(title, () => body(new Bench('postgres')))
}

/** A database for each test of a `describe`, and what uses it; everything is closed after the test. */
export class Bench {
  readonly dialect: Dialect
  #database: TestDatabase | undefined
  readonly #stores: Store[] = []
  readonly #workers: RunningWorker[] = []
  readonly #processes: WorkerProcess[] = []
  readonly #cleanups: (() => Promise<unknown>)[] = []

  constructor(dialect: Dialect) {
    this.dialect = dialect
    beforeEach(async () => {
      this.#database = await createDatabase(dialect)
    })
    afterEach(async () => {
      await Promise.all(this.#processes.splice(0).map((process) => process.kill()))
      await Promise.all(this.#workers.splice(0).map((worker) => worker.stop({ graceMs: 0 })))
      await Promise.all(this.#stores.splice(0).map((store) => store.close()))
      for (const cleanup of this.#cleanups.splice(0)) await cleanup()
      await this.#database?.drop()
    })
  }

  get url(): string {
    if (!this.#database) throw new Error('there is a database only while a test runs')
    return this.#database.url
  }

  /** For resources that workers use until they have stopped. */
  defer(cleanup: () => Promise<unknown>): void {
    this.#cleanups.push(cleanup)
  }

  async open(options: OpenOptions & { readonly url?: string } = {}): Promise<Store> {
    const { url = this.url, ...rest } = options
    const store = await openStore(url, rest)
    this.#stores.push(store)
    return store
  }

  /** A quiet worker in this process that never leads, with an inline lease: starting a thread takes half a second. */
  async start(options: WorkerOptions): Promise<RunningWorker> {
    const quick = { maintenance: false, log: new TestLog(), abandonMs: 200, lease: 'inline' } as const
    const worker = await startWorker({ ...quick, ...options })
    this.#workers.push(worker)
    return worker
  }

  /** A worker in a process of its own, with the handlers of worker-process.ts. */
  async spawn(options: Said['options'] = {}, url = this.url): Promise<WorkerProcess> {
    const child = new WorkerProcess({ url, options })
    this.#processes.push(child)
    await child.ready
    return child
  }
}

export class WorkerProcess {
  readonly child: ChildProcess
  readonly ready: Promise<unknown>
  readonly exited: Promise<{ code: number | null; signal: string | null }>
  /** Its messages, in order. */
  readonly told: FromProcess[] = []
  stderr = ''

  constructor(said: Said) {
    this.child = fork(new URL('./worker-process.ts', import.meta.url), [JSON.stringify(said)], {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.exited = once(this.child, 'exit').then(([code, signal]) => ({ code, signal }))
    this.child.on('message', (message: FromProcess) => this.told.push(message))
    const failed = this.exited.then(() => {
      throw new Error(`the process ended: ${this.stderr}`)
    })
    failed.catch(() => {})
    this.ready = Promise.race([once(this.child, 'message'), failed])
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  tell(message: ToProcess): void {
    this.child.send(message)
  }

  /** Ids of jobs whose handlers it has started. */
  get started(): JobId[] {
    return this.told.flatMap((message) => ('started' in message ? [message.started] : []))
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    this.child.kill('SIGKILL')
    await this.exited
  }
}

export function someJobs(count: number, topic: string, options?: EnqueueOptions): NewJob[] {
  return Array.from({ length: count }, (_, n) => prepareJob(topic, { n }, options))
}

export class TestLog implements Logger {
  readonly lines: { level: string; message: string; fields: object }[] = []
  debug = this.#line('debug')
  info = this.#line('info')
  warn = this.#line('warn')
  error = this.#line('error')
  child(): Logger {
    return this
  }
  of(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message)
  }
  #line(level: string) {
    return (fields: object, message: string) => {
      this.lines.push({ level, message, fields })
    }
  }
}
