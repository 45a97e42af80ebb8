import { hostname } from 'node:os'
import { OncueError } from '@oncue/core'
import { assertSameDatabase, type Subscription, type TopicAnnouncement } from '@oncue/db'
import { type Logger, type PausableRuntime, pausable, type Service, withTimeout } from '@oncue/runtime'
import {
  Dispatcher,
  type DispatcherOptions,
  MOST_UNSETTLED,
  type WorkerStats,
} from './dispatch/dispatcher.ts'
import type { RestOptions } from './dispatch/rest.ts'
import { createLease, type Lease, policiesOf } from './lease/lease.ts'
import { LeaseLedger, type LedgerPosition } from './lease/ledger.ts'
import { type OwnedRun, OwnedRuns } from './lease/owned-runs.ts'
import { createMaintenance } from './maintenance/maintenance.ts'
import { saveSchedules } from './maintenance/schedules.ts'
import { createClashWatch } from './maintenance/topic-clashes.ts'
import { type Settings, toSettings, type WorkerOptions } from './options.ts'
import { createExecutor, type Executor } from './run/executor.ts'
import { VERSION } from './version.ts'

/** A worker that runs in this process, from `startWorker`. */
export interface RunningWorker {
  /** A UUID, new at each start: the id of this worker in lists. */
  readonly id: string
  stats(): WorkerStats
  /**
   * Resolves when no due job is left to run and all runs are settled; the worker goes on. Waits for rate limits, but
   * not for paused queues, nor for runs of other workers.
   */
  drain(): Promise<void>
  /**
   * Stops claiming, releases runs that have not started, waits `graceMs` for the others, then aborts and
   * releases them. A second call ends the wait of the first.
   */
  stop(options?: StopOptions): Promise<void>
}

interface StopOptions {
  readonly graceMs?: number | undefined
}

/** Runs jobs until `stop()`. Resolves once it is present and listens; its first claim is under way then. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const worker = new WorkerService(options)
  await worker.start()
  return {
    id: worker.id,
    stats: () => worker.stats(),
    drain: () => worker.drain(),
    stop: (stopOptions) => worker.stop(stopOptions),
  }
}

/** How long parts may take to stop. A database that is down must not keep a process from ending. */
const STOP_MS = 3_000

/** The parts of a worker, and the one order in which they start and stop. Can be stopped while it starts. */
export class WorkerService implements RunningWorker {
  readonly id: string
  readonly #settings: Settings
  readonly #log: Logger
  readonly #runs: OwnedRuns
  readonly #executor: Executor
  readonly #lease: Lease
  readonly #dispatcher: Dispatcher
  /** What runs beside the jobs, and can stop at any time. */
  readonly #background: readonly Service[]
  readonly #backgroundRuntime: PausableRuntime
  #subscribing: Promise<Subscription> | undefined
  #restSubscription: Subscription | undefined
  #starting: Promise<void> | undefined
  #hasStarted = false
  #stopping: Promise<void> | undefined

  constructor(options: WorkerOptions) {
    const settings = toSettings(options)
    const { store, registry, runtime, concurrency, leaseMs, abandonMs } = settings
    if (registry.topics().length === 0) {
      throw new OncueError('INVALID_INPUT', 'workers has no handlers: there is nothing to run')
    }
    const id = runtime.uuid()
    const log = settings.log.child({ worker: id })
    const shared = { store, worker: id, log, runtime }
    this.#backgroundRuntime = pausable(runtime)
    // Twice what may be unsettled: those, what runs, what is prefetched, and two claims under way.
    const ledger = new LeaseLedger(concurrency + 2 * MOST_UNSETTLED)
    this.id = id
    this.#settings = settings
    this.#log = log
    this.#runs = new OwnedRuns(ledger)
    this.#executor = createExecutor({
      ...shared,
      registry,
      middleware: settings.use,
      retry: settings.retry,
      abandonMs,
      modules: settings.modules,
    })
    this.#lease = createLease(settings.lease, {
      ...shared,
      worker: {
        id,
        host: hostname(),
        pid: process.pid,
        queues: [...settings.queues],
        concurrency,
        version: settings.version,
      },
      leaseMs,
      abandonMs,
      ledger,
      policies: policiesOf(registry, settings.retry),
      owned: () => this.#runs.all(),
      onLost: (positions) => this.#each(positions, (owned) => this.#dispatcher.slots.lost(owned)),
      onCancelled: (positions) => this.#each(positions, (owned) => this.#dispatcher.slots.cancelled(owned)),
      onRescued: (rescued) => {
        log.warn({ rescued }, 'released the runs of dead workers')
        this.#dispatcher.wake()
      },
    })
    this.#dispatcher = new Dispatcher({
      ...shared,
      queues: settings.queues,
      topics: registry.topics(),
      concurrency,
      pollMs: settings.pollMs,
      rest: this.#restOptions(shared),
      leaseMs,
      executor: this.#executor,
      runs: this.#runs,
      keep: (owned) => this.#lease.keep(owned),
      onSettled: settings.onSettled,
      onFailed: settings.onFailed,
    })
    const beside = { ...shared, runtime: this.#backgroundRuntime }
    this.#background = [
      ...(settings.maintenance ? [createMaintenance({ ...settings.maintenance, ...beside })] : []),
      createClashWatch(beside),
    ]
  }

  /** Rejects if it fails or is stopped meanwhile; then everything that had started has stopped again. */
  start(): Promise<void> {
    this.#starting ??= this.#startParts()
    return this.#starting.catch(async (error) => {
      await this.stop({ graceMs: 0 }).catch(() => {})
      throw error
    })
  }

  stats(): WorkerStats {
    return this.#dispatcher.stats()
  }

  drain(): Promise<void> {
    return this.#dispatcher.drain()
  }

  stop({ graceMs = this.#stopping ? 0 : this.#settings.graceMs }: StopOptions = {}): Promise<void> {
    const dispatched = this.#dispatcher.stop(graceMs)
    this.#stopping ??= this.#stopParts(dispatched)
    return this.#stopping
  }

  async #startParts(): Promise<void> {
    const { store, registry, service, version, queues, concurrency, leaseMs } = this.#settings
    await store.announce(announcements(registry), { worker: this.id, service })
    this.#assertStarting()
    const { visible } = await this.#lease.start()
    this.#assertStarting()
    for (const transactions of registry.transactions())
      await assertSameDatabase(store, transactions, this.#settings.runtime)
    this.#assertStarting()
    // After the lease: a service that starts at the same moment must see that these schedules have a live owner.
    await saveSchedules(store, registry, service, this.#log)
    this.#assertStarting()
    this.#subscribing = store.onWake(queues, () => this.#dispatcher.wake())
    await this.#subscribing
    await this.#listenForRests()
    this.#assertStarting()
    this.#hasStarted = true
    this.#dispatcher.start()
    for (const part of this.#background) part.start()
    if (!visible) {
      const message = 'transaction pooler detected: worker crashes are noticed only when their leases expire'
      this.#log.warn({ leaseMs }, message)
    }
    const topics = registry.topics()
    this.#log.info({ version, oncue: VERSION, service, queues, topics, concurrency }, 'worker started')
  }

  /** The lease last: until then runs may still have to be settled, and others must not take them over. */
  async #stopParts(dispatched: Promise<void>): Promise<void> {
    const { runtime } = this.#settings
    const background = failuresOf([this.#unsubscribe(), ...this.#background.map((part) => part.stop())])
    await dispatched
    // Nothing was claimed, and the start may be waiting for the lease.
    if (!this.#hasStarted) await failuresOf([this.#lease.stop()])
    const start = this.#starting?.catch(() => {})
    const handlers = failuresOf([start, this.#executor.close(), this.#dispatcher.hooksEnded()])
    const both = Promise.all([background, handlers]).then((failures) => failures.flat())
    const errors = await withTimeout(both, STOP_MS, () => [], runtime)
    errors.push(...(await failuresOf([this.#lease.stop()])))
    // A worker that stops during a rest leaves its store as others need it.
    if (this.#dispatcher.rest) void this.#settings.store.rest?.resume(this.id)
    const { complete, fail, retry, snooze, release, cancel } = this.stats().settled
    const runs = { completed: complete, failed: fail, retried: retry, snoozed: snooze }
    this.#log.info({ ...runs, released: release, cancelled: cancel }, 'worker stopped')
    if (errors.length > 0) throw errors[0]
  }

  async #unsubscribe(): Promise<void> {
    const subscription = await this.#subscribing?.catch(() => undefined)
    await subscription?.close()
    await this.#restSubscription?.close()
  }

  #restOptions(shared: Pick<RestOptions, 'worker' | 'log' | 'runtime'>): DispatcherOptions['rest'] {
    const { store, maxPollMs, leaseMs, maintenance } = this.#settings
    const { rest } = store
    if (maxPollMs === null || rest === null) return undefined
    return {
      ...shared,
      store,
      rest,
      maxMs: maxPollMs,
      leaseMs,
      ticks: maintenance !== false,
      pause: () => {
        this.#backgroundRuntime.pause()
        rest.pause(this.id)
        this.#lease.rest()
      },
      resume: async () => {
        this.#backgroundRuntime.resume()
        await Promise.all([rest.resume(this.id), this.#lease.resume()])
      },
    }
  }

  async #listenForRests(): Promise<void> {
    const { store, maxPollMs } = this.#settings
    this.#restSubscription = await this.#dispatcher.rest?.listen()
    if (maxPollMs === null || store.rest || store.dialect === 'sqlite') return
    this.#log.warn(
      {},
      'transaction pooler detected: polling cannot back off, because no wake-up would arrive',
    )
  }

  #assertStarting(): void {
    if (this.#stopping)
      throw new OncueError('WORKER_STOPPING', 'the worker was stopped while it was starting')
  }

  /** Skips runs that are over. */
  #each(positions: readonly LedgerPosition[], act: (owned: OwnedRun) => void): void {
    for (const [position, generation] of positions) {
      const owned = this.#runs.at(position, generation)
      if (owned) act(owned)
    }
  }
}

/** One part that fails to stop does not keep the others from stopping. */
async function failuresOf(stops: readonly (Promise<unknown> | undefined)[]): Promise<unknown[]> {
  const results = await Promise.allSettled(stops)
  return results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
}

function announcements(registry: Settings['registry']): TopicAnnouncement[] {
  return registry.describe().map(({ topic, input, output, ...policy }) => ({ topic, input, output, policy }))
}
