import type { Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import type { Logger } from './log.ts'

type Kept = {
  readonly store: Pick<Store, 'now'>
  readonly control: Pick<Control, 'audit' | 'operations' | 'alerts'>
}

interface Rule {
  readonly keepMs: number
  /** One batch; returns how many. */
  readonly prune: (kept: Kept['control'], rule: { before: Date; limit: number }) => Promise<number>
}

const DAY_MS = 86_400_000
const EVERY_MS = 3_600_000
const BATCH = 1_000

const ENQUEUES = ['jobs.enqueue', 'jobs.enqueueMany']

/** There are as many enqueues as jobs, so they go with the jobs; what people did is kept as long as what failed. */
const RULES: readonly Rule[] = [
  { keepMs: 7 * DAY_MS, prune: ({ audit }, rule) => audit.prune({ ...rule, actions: ENQUEUES }) },
  { keepMs: 90 * DAY_MS, prune: ({ audit }, rule) => audit.prune(rule) },
  { keepMs: 90 * DAY_MS, prune: ({ operations }, rule) => operations.prune(rule) },
  { keepMs: 30 * DAY_MS, prune: ({ alerts }, rule) => alerts.prune(rule) },
]

/** Keeps what people leave behind from growing for ever. Several processes may do it at once. */
export class Retention {
  readonly #kept: Kept
  readonly #log: Pick<Logger, 'warn'>
  #timer: NodeJS.Timeout | undefined
  #pruning: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(kept: Kept, log: Pick<Logger, 'warn'>) {
    this.#kept = kept
    this.#log = log
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#pruning = this.prune().catch((error: unknown) =>
        this.#log.warn({ err: error }, 'what is too old could not be removed; the next try is in an hour'),
      )
    }, EVERY_MS).unref()
  }

  async prune(): Promise<void> {
    const now = (await this.#kept.store.now()).getTime()
    for (const { keepMs, prune } of RULES) {
      const before = new Date(now - keepMs)
      for (let pruned = BATCH; pruned >= BATCH && !this.#isClosed; )
        pruned = await prune(this.#kept.control, { before, limit: BATCH })
    }
  }

  /** Waits for a batch that is under way. */
  close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    return this.#pruning
  }
}
