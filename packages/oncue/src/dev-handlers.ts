import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { extname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EXIT } from '@oncue/db/cli'
import type { Logger } from '@oncue/worker'
import type { FromWorker, ToWorker } from './dev-messages.ts'
import { WatchedFiles } from './watched-files.ts'

const FILE = fileURLToPath(new URL(`./dev-worker${extname(import.meta.url)}`, import.meta.url))

interface HandlersOptions {
  /** Of `dev-worker`. */
  readonly args: readonly string[]
  /** For messages, paths start here. */
  readonly folder: string
  readonly log: Logger
}

/**
 * The handlers of `oncue dev`, in a process of their own. When a file that they import changes, a new process takes over at
 * once: the old one claims no more jobs, and ends when those that it runs have ended.
 */
export class Handlers {
  readonly #options: HandlersOptions
  readonly #files: WatchedFiles
  /** Every process that has not ended, and whether it was asked to. */
  readonly #processes = new Map<ChildProcess, boolean>()
  #current: ChildProcess | undefined
  #url: string | undefined
  #hasLoaded = false
  #stopping: Promise<number> | undefined

  constructor(options: HandlersOptions) {
    this.#options = options
    this.#files = new WatchedFiles(
      (files) => this.#restart(files),
      (err) => options.log.warn({ err }, 'cannot watch files: handlers are not restarted when they change'),
    )
  }

  /** Loads the modules. Returns the exit code if that failed or was stopped; the process has said why. */
  load(): Promise<number | undefined> {
    const child = this.#spawn()
    return new Promise((resolve) => {
      child.on('message', ({ kind }: FromWorker) => {
        if (kind !== 'loaded') return
        this.#hasLoaded = true
        resolve(undefined)
      })
      child.once('exit', (code) => resolve(code ?? EXIT.failed))
    })
  }

  /** Lets them work on that database. */
  open(url: string): void {
    this.#url = url
    if (this.#current) this.#tell(this.#current, { kind: 'open', url })
  }

  /** Waits for running jobs. Returns the worst exit code. */
  stop(): Promise<number> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** Gives running jobs back to the queue, so that `stop` returns at once. */
  hurry(): void {
    for (const child of this.#processes.keys()) this.#tell(child, { kind: 'stop' })
  }

  async #stop(): Promise<number> {
    this.#files.close()
    const codes = await Promise.all(
      [...this.#processes].map(async ([child, isAsked]) => {
        if (!isAsked) this.#tell(child, { kind: 'stop' })
        const [code] = await once(child, 'exit')
        return Number(code ?? EXIT.failed)
      }),
    )
    return Math.max(EXIT.done, ...codes)
  }

  #spawn(): ChildProcess {
    // In a group of its own: Ctrl-C reaches this process alone, which asks the other one.
    const child = fork(FILE, this.#options.args, {
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#current = child
    this.#processes.set(child, false)
    child.on('message', (message: FromWorker) => {
      if (message.kind === 'file') this.#files.add(message.path)
      else if (this.#url !== undefined) this.#tell(child, { kind: 'open', url: this.#url })
    })
    child.once('exit', (code, signal) => this.#ended(child, String(signal ?? code)))
    return child
  }

  #restart(files: readonly string[]): void {
    if (this.#stopping || !this.#hasLoaded) return
    const { folder, log } = this.#options
    log.info({ files: files.map((file) => relative(folder, file)) }, 'restarting the handlers: files changed')
    for (const [child, isAsked] of this.#processes) {
      if (isAsked) continue
      this.#processes.set(child, true)
      this.#tell(child, { kind: 'stop' })
    }
    this.#spawn()
  }

  #ended(child: ChildProcess, code: string): void {
    const wasAsked = this.#processes.get(child)
    this.#processes.delete(child)
    if (this.#stopping || !this.#hasLoaded) return
    if (child === this.#current) {
      this.#current = undefined
      this.#options.log.warn(
        { code },
        'the handlers have ended; they start again when a file of theirs changes',
      )
    } else if (wasAsked && !this.#current && this.#processes.size === 0) {
      // The new process may have failed because the old one held a port.
      this.#spawn()
    }
  }

  #tell(child: ChildProcess, message: ToWorker): void {
    // It may be ending.
    if (child.connected) child.send(message, () => {})
  }
}
