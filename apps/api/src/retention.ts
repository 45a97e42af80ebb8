import type { Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import { Loop, type LoopOptions, type Service, systemRuntime } from '@oncue/runtime'

interface RetentionOptions extends Pick<LoopOptions, 'log' | 'runtime'> {
  readonly store: Pick<Store, 'now'>
  readonly control: Pick<Control, 'audit' | 'bulkOperations' | 'alerts'>
}

interface Rule {
  readonly keepMs: number
  /** Deletes one batch; returns how many rows. */
  readonly prune: (
    control: RetentionOptions['control'],
    batch: { before: Date; limit: number },
  ) => Promise<number>
}

const DAY_MS = 86_400_000
const EVERY_MS = 3_600_000
/** The first run is 30 to 60 s after the start: processes that start together do not all prune at once. */
const FIRST_MS = 30_000
const BACKOFF = { firstMs: 60_000, maxMs: EVERY_MS }
const BATCH = 1_000

const ENQUEUES = ['jobs.enqueue', 'jobs.enqueueMany', 'jobs.batch', 'jobs.flow']

/** There are as many enqueues as jobs, so they are kept as long as completed jobs; the rest as long as failed ones. */
const RULES: readonly Rule[] = [
  { keepMs: 7 * DAY_MS, prune: ({ audit }, batch) => audit.prune({ ...batch, actions: ENQUEUES }) },
  { keepMs: 90 * DAY_MS, prune: ({ audit }, batch) => audit.prune(batch) },
  { keepMs: 90 * DAY_MS, prune: ({ bulkOperations }, batch) => bulkOperations.prune(batch) },
  { keepMs: 30 * DAY_MS, prune: ({ alerts }, batch) => alerts.prune(batch) },
]

/** Deletes old audit entries, bulk operations and alerts, soon after the start and then every hour. Several processes may do it at once. */
export class Retention implements Service {
  readonly #options: RetentionOptions
  readonly #loop: Loop

  constructor(options: RetentionOptions) {
    const { log, runtime = systemRuntime } = options
    this.#options = options
    this.#loop = new Loop({
      what: 'deleting old audit entries, bulk operations and alerts',
      firstMs: FIRST_MS * (1 + runtime.random()),
      backoff: BACKOFF,
      log,
      runtime,
      work: async (signal) => {
        await this.prune(signal)
        return EVERY_MS
      },
    })
  }

  start(): void {
    this.#loop.start()
  }

  async prune(signal?: AbortSignal): Promise<void> {
    const { store, control } = this.#options
    const now = (await store.now()).getTime()
    for (const { keepMs, prune } of RULES) {
      const before = new Date(now - keepMs)
      for (let pruned = BATCH; pruned >= BATCH && !signal?.aborted; )
        pruned = await prune(control, { before, limit: BATCH })
    }
  }

  /** Waits for the batch that is under way. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }
}
