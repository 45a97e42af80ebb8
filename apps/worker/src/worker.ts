import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { OncueError } from '@oncue/core'
import type { TopicAnnouncement } from '@oncue/db'
import { Dispatcher, MOST_UNSETTLED, type WorkerStats } from './dispatch/dispatcher.ts'
import { goodbye } from './goodbye.ts'
import type { LedgerPosition } from './lease/keeper.ts'
import { policiesOf, startInlineLease, startThreadLease } from './lease/lease.ts'
import { LeaseLedger } from './lease/ledger.ts'
import { type OwnedRun, OwnedRuns } from './lease/owned-runs.ts'
import { createMaintenance } from './maintenance/maintenance.ts'
import { saveSchedules } from './maintenance/schedules.ts'
import { createClashWatch } from './maintenance/topic-clashes.ts'
import { type Settings, toSettings, type WorkerOptions } from './options.ts'
import { createExecutor } from './run/executor.ts'
import { unawaited } from './run/unawaited.ts'
import { VERSION } from './version.ts'

export interface RunningWorker {
  /** As others see it: a UUID, new at each start. */
  readonly id: string
  stats(): WorkerStats
  /**
   * Resolves when nothing that is due is left to run, and all is settled; the worker goes on. Waits for rates, and
   * not for paused queues, nor for what other workers run.
   */
  drain(): Promise<void>
  /**
   * Stops claiming, gives back what has not started, waits `graceMs` for the rest, then aborts and
   * releases it. A second call hurries the first.
   */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

/** Runs jobs until `stop()`. Resolves once it is present and listens; its first claim is under way then. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const settings = toSettings(options)
  const { store, registry, queues, concurrency, leaseMs, abandonMs } = settings
  if (registry.topics().length === 0) {
    throw new OncueError('INVALID_INPUT', 'workers has no handlers: there is nothing that could be run')
  }
  const id = randomUUID()
  const log = settings.log.child({ worker: id })
  const maintenance = settings.maintenance
    ? createMaintenance({ ...settings.maintenance, store, worker: id, log })
    : null
  await store.announce(announcements(settings), { worker: id, service: settings.service })

  // Twice what may be unsettled: those, what runs, what is prefetched, and two claims under way.
  const ledger = new LeaseLedger(concurrency + 2 * MOST_UNSETTLED)
  const runs = new OwnedRuns(ledger)
  const executor = createExecutor({
    store,
    worker: id,
    registry,
    log,
    middleware: settings.use,
    retry: settings.retry,
    abandonMs,
    modules: settings.modules,
  })
  const startLease = settings.lease === 'thread' ? startThreadLease : startInlineLease
  const lease = await startLease({
    store,
    worker: { id, host: hostname(), pid: process.pid, queues: [...queues], concurrency, version: VERSION },
    leaseMs,
    abandonMs,
    ledger,
    policies: policiesOf(registry, settings.retry),
    log,
    owned: () => runs.all(),
    onLost: (positions) => each(positions, (owned) => dispatcher.slots.lost(owned)),
    onCancelled: (positions) => each(positions, (owned) => dispatcher.slots.cancelled(owned)),
    onRescued: (rescued) => {
      log.warn({ rescued }, 'freed the runs of workers that died')
      dispatcher.wake()
    },
  })
  const clashes = createClashWatch({ store, worker: id, log })
  const dispatcher = new Dispatcher({
    store,
    worker: id,
    queues,
    topics: registry.topics(),
    concurrency,
    pollMs: settings.pollMs,
    leaseMs,
    log,
    executor,
    runs,
    keep: (owned) => lease.keep(owned),
    onSettled: settings.onSettled,
    onFailed: settings.onFailed,
  })
  const each = (positions: readonly LedgerPosition[], act: (owned: OwnedRun) => void) => {
    for (const [position, generation] of positions) {
      const owned = runs.at(position, generation)
      if (owned) act(owned)
    }
  }
  // Once this worker is seen to live: to a service that starts at the same moment its schedules have an owner.
  const subscription = await saveSchedules(store, registry, settings.service, log)
    .then(() => store.onWake(queues, () => dispatcher.wake()))
    .catch(async (error) => {
      await lease.stop()
      throw error
    })

  dispatcher.start()
  maintenance?.start()
  clashes.start()
  if (!lease.visible) {
    log.warn({ leaseMs }, 'behind a transaction pooler nobody sees this worker die: only its leases tell')
  }
  log.info(
    { version: VERSION, service: settings.service, queues, topics: registry.topics(), concurrency },
    'the worker runs',
  )

  let stopping: Promise<void> | undefined
  async function stop(dispatched: Promise<void>): Promise<void> {
    const others = unawaited(Promise.all([subscription.close(), maintenance?.stop(), clashes.stop()]))
    await dispatched
    await goodbye(Promise.all([others, executor.close(), dispatcher.told()]))
    await lease.stop()
    log.info({ ...dispatcher.stats().settled }, 'the worker has stopped')
  }

  return {
    id,
    stats: () => dispatcher.stats(),
    drain: () => dispatcher.drain(),
    stop({ graceMs = stopping ? 0 : settings.graceMs } = {}) {
      const dispatched = dispatcher.stop(graceMs)
      stopping ??= stop(dispatched)
      return stopping
    },
  }
}

function announcements({ registry }: Settings): TopicAnnouncement[] {
  return registry.describe().map(({ topic, input, output, ...policy }) => ({ topic, input, output, policy }))
}
