import { OncueError } from '@oncue/core'
import type { PruneRule, Store } from '@oncue/db'
import { Leader, Loop, type Service } from '@oncue/runtime'
import type { Logger } from '../observability/log.ts'
import { createTicker } from './schedules.ts'

export interface MaintenanceOptions {
  /** For how long finished jobs are kept, in milliseconds: completed 7 days, cancelled 30, failed 90. */
  readonly retention?: Retention | undefined
  /** For tests. */
  readonly timing?: Partial<Timing> | undefined
}

/** In milliseconds. An idle worker may send two statements a second, of which polls take nearly all. */
const TIMING = {
  /** For how long a leader that says nothing more keeps others from leading; one seen to die does not. */
  term: 45_000,
  try: 15_000,
  /** For schedules whose change nobody heard of. */
  look: 15_000,
  rollUp: 10_000,
  prune: 300_000,
}
type Timing = typeof TIMING

/** What one worker at a time does for all: cron, pruning, statistics. All of it may be done twice. */
export function createMaintenance(
  options: MaintenanceOptions & { readonly store: Store; readonly worker: string; readonly log: Logger },
): Service {
  const { store, worker, log, retention } = options
  const timing = { ...TIMING, ...options.timing }
  return new Leader({
    store,
    log,
    what: 'maintenance',
    who: 'the worker',
    by: worker,
    termMs: timing.term,
    tryMs: timing.try,
    duties: [
      createTicker({ store, log, lookMs: timing.look }),
      createRollUp({ store, log, everyMs: timing.rollUp }),
      createPruner({ store, log, retention, everyMs: timing.prune }),
    ],
  })
}

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
const RETENTION = { completed: 7 * DAY_MS, cancelled: 30 * DAY_MS, failed: 90 * DAY_MS }

/** Short transactions: whoever settles at the same moment waits for none of them. */
const BATCH = 1_000

type Status = PruneRule['status']

/** Which statuses are pruned, and after how many milliseconds. */
export function toRules(retention: Retention = {}): (readonly [Status, number])[] {
  const rules = Object.entries(RETENTION) as [Status, number][]
  return rules.map(([status, byDefault]) => [status, checked(status, retention[status] ?? byDefault)])
}

function checked(status: Status, ms: number): number {
  if (ms >= 0) return ms
  throw new OncueError('INVALID_INPUT', `retention.${status} must be milliseconds from 0, got ${ms}`)
}

/** Removes what has been finished for long enough, until nothing of it is left. */
function createPruner(options: {
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

/** So many notes in one go mean that more are waiting. */
const MANY = 1_000
/** Where nothing happens it is asked for more and more rarely, up to this many times `everyMs`. */
const RAREST = 6

/** Adds up what settles noted down. Reads are exact without it, and quick with it. */
function createRollUp(options: { store: Store; log: Logger; everyMs: number }): Loop {
  const { store, log, everyMs } = options
  let waitMs = everyMs
  return new Loop({
    log,
    what: 'rolling up statistics',
    async work() {
      const notes = await store.rollUp()
      if (notes >= MANY) return 0
      waitMs = notes > 0 ? everyMs : Math.min(waitMs * 2, everyMs * RAREST)
      return waitMs
    },
  })
}
