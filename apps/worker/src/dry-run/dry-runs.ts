import { type ChildProcess, fork } from 'node:child_process'
import { OncueError } from '@oncue/core'
import type { ClaimedJob, JobDetails, Outcome } from '@oncue/db'
import { type Runtime, systemRuntime, withTimeout } from '@oncue/runtime'
import { bareEnvironment } from '../config.ts'
import { inheritedFlags } from '../isolate/isolates.ts'
import { packError, unpackError } from '../isolate/packed-error.ts'
import { ownFile } from '../own-code.ts'
import type { DryRunEnd, Reads } from './dry-run.ts'
import type { FromChild, ToChild } from './messages.ts'

/** `stuck`: the handler came to nothing new in time, and its process was killed. */
export type DryRunResult = DryRunEnd | (Pick<DryRunEnd, 'missing' | 'stopsAt'> & { readonly how: 'stuck' })

export const RUN_MS = 10_000
const LOAD_MS = 60_000

/** Repeats the handlers of jobs in child processes, one job in each at a time. */
export class DryRuns {
  readonly #modules: readonly string[]
  readonly #reads: Reads
  readonly #runtime: Runtime
  readonly #processes = new Set<DryRunProcess>()
  readonly #idle: DryRunProcess[] = []

  /** `modules`: the URLs of those with the handlers. */
  constructor(modules: readonly string[], reads: Reads, runtime: Runtime = systemRuntime) {
    this.#modules = modules
    this.#reads = reads
    this.#runtime = runtime
  }

  async run({ events: _, ...job }: JobDetails, outcomes: readonly Outcome[]): Promise<DryRunResult> {
    const used = this.#idle.pop()
    const result = used && (await this.#runIn(used, job, outcomes))
    if (result && result.how !== 'stuck' && used.isAlive) return result
    // What an earlier job left behind may have ended or blocked that process.
    return this.#runIn(new DryRunProcess(this.#modules, this.#reads), job, outcomes)
  }

  async #runIn(child: DryRunProcess, job: ClaimedJob, outcomes: readonly Outcome[]): Promise<DryRunResult> {
    this.#processes.add(child)
    await withTimeout(child.ready, LOAD_MS, tooSlow, this.#runtime)
    const ended = child.run({ kind: 'run', job, outcomes })
    const stuck = () => ({ how: 'stuck', missing: [], stopsAt: [] }) as const
    const result = await withTimeout<DryRunResult>(ended, RUN_MS, stuck, this.#runtime)
    if (result.how === 'stuck' || !child.isAlive) await this.#end(child)
    else this.#idle.push(child)
    return result
  }

  async close(): Promise<void> {
    await Promise.all([...this.#processes].map((child) => this.#end(child)))
  }

  async #end(child: DryRunProcess): Promise<void> {
    this.#processes.delete(child)
    await child.kill()
  }
}

function tooSlow(): never {
  throw new OncueError('INVALID_MODULE', `the modules were not loaded within ${LOAD_MS / 1_000} s`)
}

class DryRunProcess {
  readonly ready: Promise<void>
  readonly #process: ChildProcess
  readonly #reads: Reads
  readonly #exited: Promise<void>
  #end: ((result: DryRunEnd) => void) | undefined
  #isAlive = true

  constructor(modules: readonly string[], reads: Reads) {
    this.#reads = reads
    const file = ownFile('dry-run/child')
    if (!file) throw new OncueError('CODE_MISSING', 'There is no file of dry-run/child')
    this.#process = fork(file, [JSON.stringify(modules)], {
      env: bareEnvironment(),
      execArgv: [...inheritedFlags().filter((flag) => !ALLOWS.test(flag)), ...CLOSED],
      serialization: 'advanced',
      // What it prints is no output of the command.
      stdio: ['ignore', 2, 2, 'ipc'],
    })
    this.#exited = new Promise((resolve) => {
      this.#process.on('error', () => resolve())
      this.#process.once('close', () => resolve())
    })
    this.ready = new Promise((resolve, reject) => {
      const die = (how: string) => {
        this.#isAlive = false
        const error = new OncueError('INVALID_MODULE', `the process of the dry run ${how}`)
        reject(error)
        this.#end?.({ how: 'threw', error, missing: [], stopsAt: [] })
      }
      this.#process.on('error', (error) => die(`could not be started: ${error.message}`))
      this.#process.once('close', (code, signal) => die(`ended with ${signal ?? `exit code ${code}`}`))
      this.#process.on('message', (message: FromChild) => {
        if (message.kind === 'ready') resolve()
        else if (message.kind === 'broken') reject(notLoaded(unpackError(message.error)))
        else if (message.kind === 'read') void this.#answer(message)
        else this.#finish(message)
      })
    })
    this.ready.catch(() => {})
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  #finish({ end: { how, error, ...keys }, isLast }: Extract<FromChild, { kind: 'ended' }>): void {
    if (isLast) this.#isAlive = false
    this.#end?.(how === 'threw' ? { ...keys, how, error: error && unpackError(error) } : { ...keys, how })
  }

  run(message: ToChild): Promise<DryRunEnd> {
    return new Promise((resolve) => {
      const error = new OncueError('INVALID_MODULE', 'the process of the dry run has ended')
      if (!this.#isAlive) return resolve({ how: 'threw', error, missing: [], stopsAt: [] })
      this.#end = resolve
      this.#send(message)
    })
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#exited
  }

  async #answer({ read, method, args }: Extract<FromChild, { kind: 'read' }>): Promise<void> {
    try {
      // Method and arguments match; the compiler cannot infer that from a union.
      const perform = this.#reads[method] as (...args: unknown[]) => Promise<unknown>
      this.#send({ kind: 'value', read, value: await perform(...args) })
    } catch (error) {
      this.#send({ kind: 'error', read, error: packError(error, '') })
    }
  }

  #send(message: ToChild): void {
    // A closed channel is noticed when the process ends.
    this.#process.send(message, () => {})
  }
}

/** Modules are read from anywhere. Nothing is written, and there are no processes, threads, native code or network. */
const CLOSED = ['--permission', '--allow-fs-read=*']
const ALLOWS = /^--(allow-|permission|experimental-permission)/

function notLoaded(cause: Error): OncueError {
  const message = `without environment and network, the modules cannot be loaded: ${cause.message}`
  return new OncueError('INVALID_MODULE', message, {
    cause,
    hint: 'Read variables and open connections when they are first needed, or in `setup`, which is not called here.',
  })
}
