import { OncueError } from '@oncue/core'
import type { PruneRule, Store } from '@oncue/db'
import { Loop } from '@oncue/runtime'
import type { Logger } from '../observability/log.ts'

/** For how long finished jobs are kept, in milliseconds. `Infinity`: for ever. */
export interface Retention {
  /** Milliseconds; Infinity for ever. Default: 7 days. */
  readonly completed?: number | undefined
  /** Milliseconds; Infinity for ever. Default: 90 days. */
  readonly failed?: number | undefined
  /** Milliseconds; Infinity for ever. Default: 30 days. */
  readonly cancelled?: number | undefined
}

const DAY_MS = 86_400_000

/** What failed is what people come back to. */
const DEFAULTS = { completed: 7 * DAY_MS, cancelled: 30 * DAY_MS, failed: 90 * DAY_MS }

/** Short transactions: whoever settles at the same moment waits for none of them. */
const BATCH = 1_000

type Status = PruneRule['status']

/** Which statuses are pruned, and after how many milliseconds. */
export function toRules(retention: Retention = {}): (readonly [Status, number])[] {
  const rules = Object.entries(DEFAULTS) as [Status, number][]
  return rules.map(([status, byDefault]) => [status, checked(status, retention[status] ?? byDefault)])
}

function checked(status: Status, ms: number): number {
  if (ms >= 0) return ms
  throw new OncueError('INVALID_INPUT', `retention.${status} must be milliseconds from 0, got ${ms}`)
}

/** Removes what has been finished for long enough, until nothing of it is left. */
export function createPruner(options: {
  store: Store
  log: Logger
  retention?: Retention | undefined
  everyMs: number
}): Loop {
  const { store, log, everyMs } = options
  const rules = toRules(options.retention).filter(([, ms]) => Number.isFinite(ms))

  async function pruneAll(status: Status, finishedBefore: Date, signal: AbortSignal): Promise<number> {
    let total = 0
    for (let pruned = BATCH; pruned >= BATCH && !signal.aborted; total += pruned)
      pruned = await store.prune({ status, finishedBefore, limit: BATCH })
    return total
  }

  return new Loop({
    log,
    what: 'pruning finished jobs',
    async work(signal) {
      if (rules.length === 0) return everyMs
      const now = (await store.now()).getTime()
      for (const [status, ms] of rules) {
        const pruned = await pruneAll(status, new Date(Math.max(0, now - ms)), signal)
        if (pruned > 0) log.debug({ status, pruned }, 'pruned finished jobs')
      }
      return everyMs
    },
  })
}
