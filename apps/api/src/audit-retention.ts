import type { AuditPruneRule, Store } from '@oncue/db'
import type { Logger } from './log.ts'

const DAY_MS = 86_400_000
const EVERY_MS = 3_600_000
const BATCH = 1_000

/** There are as many enqueues as jobs, so they go with the jobs; what people did is kept as long as what failed. */
const RULES: readonly (Pick<AuditPruneRule, 'actions'> & { readonly keepMs: number })[] = [
  { actions: ['jobs.enqueue', 'jobs.enqueueMany'], keepMs: 7 * DAY_MS },
  { keepMs: 90 * DAY_MS },
]

/** Keeps the audit from growing for ever. Several processes may do it at once. */
export class AuditRetention {
  readonly #store: Pick<Store, 'audit' | 'now'>
  readonly #log: Pick<Logger, 'warn'>
  #timer: NodeJS.Timeout | undefined
  #pruning: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(store: Pick<Store, 'audit' | 'now'>, log: Pick<Logger, 'warn'>) {
    this.#store = store
    this.#log = log
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#pruning = this.prune().catch((error: unknown) =>
        this.#log.warn({ err: error }, 'the audit could not be pruned; the next try is in an hour'),
      )
    }, EVERY_MS).unref()
  }

  async prune(): Promise<void> {
    const now = (await this.#store.now()).getTime()
    for (const { keepMs, ...rule } of RULES) {
      const before = new Date(now - keepMs)
      for (let pruned = BATCH; pruned >= BATCH && !this.#isClosed; )
        pruned = await this.#store.audit.prune({ ...rule, before, limit: BATCH })
    }
  }

  /** Waits for a batch that is under way. */
  close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    return this.#pruning
  }
}
