import { OncueError } from '@oncue/core'
import type { Registry } from '@oncue/core/internal'
import { Loop, type Thread, type Timer, withTimeout } from '@oncue/runtime'
import { ownCode } from '../own-code.ts'
import { type KeeperOptions, LeaseKeeper, toClaim } from './keeper.ts'
import type { OwnedRun } from './owned-runs.ts'
import type { FromLeaseThread, LeaseThreadData, ToLeaseThread } from './thread.ts'
import { PULSE_MS, type RetryPolicies } from './watchdog.ts'

export interface LeaseOptions extends Omit<KeeperOptions, 'watchdog'> {
  readonly abandonMs: number
  readonly policies: RetryPolicies
  /** All runs owned now: for a thread that replaces one that died. */
  owned(): OwnedRun[]
}

/** The lease as the main thread sees it. To start or stop it twice does no harm. */
export interface Lease {
  /** Resolves once the worker is present. Not visible: others notice its death only when its leases expire. */
  start(): Promise<{ readonly visible: boolean }>
  /** To be called before any of the runs starts: its handler may block the main thread at once. */
  keep(owned: readonly OwnedRun[]): void
  /** From now on nothing is sent: no heartbeats, no rescues. For a worker without runs. */
  rest(): void
  /** Ends that. Resolves when the worker is present again and its heartbeat is written, or could not be. */
  resume(): Promise<void>
  /** Also ends a start that is under way, which then fails. */
  stop(): Promise<void>
}

export function createLease(kind: 'thread' | 'inline', options: LeaseOptions): Lease {
  if (kind === 'thread') return new ThreadLease(options)
  const keeper = new LeaseKeeper(options)
  return {
    start: () => keeper.start(),
    keep: (owned) => keeper.keep(toClaim(owned)),
    rest: () => keeper.rest(),
    resume: () => keeper.resume(),
    stop: () => keeper.stop(),
  }
}

/** How long the thread may take to leave. A database that is down must not keep a process from ending. */
const STOP_MS = 3_000
const RESTART_MS = 1_000
/** How long the thread may take to connect again after a rest. Jobs run without it, too. */
const RESUME_MS = 3_000

class ThreadLease implements Lease {
  readonly #options: LeaseOptions
  readonly #restarts: Loop
  #starting: Promise<{ readonly visible: boolean }> | undefined
  #code: URL | string = ''
  #thread: LeaseThread | undefined
  #pulse: Timer | undefined
  #isStopping = false
  #isResting = false

  constructor(options: LeaseOptions) {
    this.#options = options
    const { log, runtime } = options
    this.#restarts = new Loop({
      log,
      runtime,
      what: 'restarting the lease thread',
      work: () => this.#restart(),
      backoff: { firstMs: RESTART_MS, maxMs: RESTART_MS, jitter: 0 },
    })
  }

  start(): Promise<{ readonly visible: boolean }> {
    this.#starting ??= this.#start()
    return this.#starting
  }

  keep(owned: readonly OwnedRun[]): void {
    this.#thread?.send({ keep: toClaim(owned) })
  }

  rest(): void {
    this.#isResting = true
    this.#thread?.send({ rest: true })
  }

  async resume(): Promise<void> {
    this.#isResting = false
    await this.#thread?.resume()
  }

  async stop(): Promise<void> {
    const { runtime } = this.#options
    this.#isStopping = true
    runtime.cancel(this.#pulse)
    await Promise.all([this.#restarts.stop(), this.#thread?.stop(), this.#starting?.catch(() => {})])
  }

  async #start(): Promise<{ readonly visible: boolean }> {
    const { ledger, runtime } = this.#options
    this.#code = await ownCode('lease/thread')
    if (this.#isStopping) throw new OncueError('INTERNAL', 'The lease was stopped before it started')
    const ready = await this.#startThread()
    if (this.#isStopping) return ready
    this.#pulse = runtime.every(PULSE_MS, () => ledger.beatPulse())
    this.#pulse.unref()
    this.#restarts.start()
    return ready
  }

  #startThread(): Promise<{ readonly visible: boolean }> {
    this.#thread = new LeaseThread(this.#code, this.#options, () => {
      if (this.#isStopping) return
      this.#options.log.error({}, 'lease thread exited unexpectedly; restarting it')
      this.#restarts.wake()
    })
    return this.#thread.ready
  }

  /** At once: the presence of the worker ended with its thread, and others look for dead workers. */
  async #restart(): Promise<number> {
    if (this.#thread?.isOver) {
      await this.#startThread()
      this.keep(this.#options.owned())
      if (this.#isResting) this.rest()
    }
    return Number.POSITIVE_INFINITY
  }
}

class LeaseThread {
  readonly ready: Promise<{ readonly visible: boolean }>
  readonly #options: LeaseOptions
  readonly #thread: Thread<FromLeaseThread>
  readonly #ended: Promise<void>
  #resumed: (() => void) | undefined
  isOver = false

  /** `onDeath` is called when it ends after it was ready. */
  constructor(code: URL | string, options: LeaseOptions, onDeath: () => void) {
    this.#options = options
    const { store, ledger, worker, leaseMs, abandonMs, policies, log, runtime } = options
    const data: LeaseThreadData = {
      url: store.url,
      schema: store.schema,
      ledger: ledger.buffer,
      worker,
      leaseMs,
      abandonMs,
      policies,
    }
    this.#thread = runtime.thread<FromLeaseThread>(code, { name: 'oncue lease', data })
    this.#ended = new Promise((resolve) => this.#thread.on('exit', () => resolve()))
    this.ready = new Promise((resolve, reject) => {
      let isReady = false
      const fail = (error: unknown) => {
        this.isOver = true
        reject(error)
      }
      this.#thread.on('message', (message) => {
        if ('ready' in message) {
          isReady = true
          resolve(message.ready)
        } else if ('failed' in message) fail(message.failed)
        else if ('lost' in message) options.onLost(message.lost)
        else if ('cancelled' in message) options.onCancelled(message.cancelled)
        else if ('rescued' in message) options.onRescued(message.rescued)
        else if ('resumed' in message) this.#resumed?.()
        // Under `node --watch` Node sends messages of its own this way, too.
        else if ('log' in message) log[message.log.level](message.log.fields, message.log.message)
      })
      this.#thread.on('error', (err) => {
        log.error({ err }, 'lease thread failed')
        fail(err)
      })
      this.#thread.on('exit', () => {
        fail(new OncueError('INTERNAL', 'The lease thread exited before it was ready'))
        if (isReady) onDeath()
      })
    })
  }

  send(message: ToLeaseThread): void {
    this.#thread.postMessage(message)
  }

  async resume(): Promise<void> {
    const resumed = new Promise<void>((resolve) => {
      this.#resumed = resolve
    })
    this.send({ rest: false })
    await withTimeout(Promise.race([resumed, this.#ended]), RESUME_MS, () => {}, this.#options.runtime)
  }

  async stop(): Promise<void> {
    this.send({ stop: true })
    const terminate = async () => void (await this.#thread.terminate())
    await withTimeout(this.#ended, STOP_MS, terminate, this.#options.runtime)
  }
}

export function policiesOf(registry: Registry, fallback: RetryPolicies['fallback']): RetryPolicies {
  const byTopic: Record<string, NonNullable<RetryPolicies['fallback']>> = {}
  for (const { topic, retry } of registry.describe()) if (retry) byTopic[topic] = retry
  return { byTopic, fallback }
}
