import { OncueError } from '@oncue/core'
import type { PruneRule, Store } from '@oncue/db'
import { Leader, type Logger, Loop, type Runtime, type Service, systemRuntime } from '@oncue/runtime'
import { createTicker } from './schedules.ts'

/** How often a worker cleans up, and how long finished jobs are kept. */
export interface MaintenanceOptions {
  /** For how long finished jobs are kept, in milliseconds: completed 7 days, cancelled 30, failed 90. */
  readonly retention?: Retention | undefined
  /** For tests. */
  readonly timing?: Partial<Timing> | undefined
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

/** In milliseconds. An idle worker may send two statements a second, nearly all of them polls. */
const TIMING = {
  /** How long a silent leader keeps others from leading. One that is seen to die is replaced at once. */
  term: 45_000,
  try: 15_000,
  /** Finds changes of schedules whose notification was lost. */
  look: 15_000,
  rollUp: 10_000,
  prune: 300_000,
}
type Timing = typeof TIMING

/** What a duty needs. */
export interface Duty {
  readonly store: Store
  readonly log: Logger
  readonly runtime: Runtime
}

/** Cron, pruning and statistics: one worker at a time does them for all. It is safe to do any of them twice. */
export function createMaintenance({
  worker,
  retention,
  timing: changed,
  runtime = systemRuntime,
  ...rest
}: MaintenanceOptions &
  Omit<Duty, 'runtime'> & { readonly worker: string; readonly runtime?: Runtime }): Service {
  const duty: Duty = { ...rest, runtime }
  const timing = { ...TIMING, ...changed }
  return new Leader({
    ...duty,
    what: 'maintenance',
    who: 'this worker',
    by: worker,
    termMs: timing.term,
    tryMs: timing.try,
    duties: [
      createTicker(duty, timing.look),
      createRollUp(duty, timing.rollUp),
      createPruner(duty, toRules(retention), timing.prune),
    ],
  })
}

const DAY_MS = 86_400_000

/** Failed jobs are the ones that people come back to. */
const RETENTION = { completed: 7 * DAY_MS, cancelled: 30 * DAY_MS, failed: 90 * DAY_MS }

/** Long enough to look up after a weekend what a worker that died held. */
const KEEP_WORKERS_MS = 7 * DAY_MS

/** Jobs in one transaction: short enough that a settle hardly waits for it. */
const PRUNE_BATCH = 1_000

type Status = PruneRule['status']
type Rule = readonly [status: Status, ms: number]

/** Which statuses are pruned, and after how many milliseconds. */
export function toRules(retention: Retention = {}): Rule[] {
  const rules = Object.entries(RETENTION) as [Status, number][]
  return rules.map(([status, byDefault]) => [status, checked(status, retention[status] ?? byDefault)])
}

function checked(status: Status, ms: number): number {
  if (ms >= 0) return ms
  throw new OncueError('INVALID_INPUT', `retention.${status} must be 0 ms or more, got ${ms}`)
}

/** Deletes jobs that finished longer ago than their status is kept, and forgets workers that ended. */
function createPruner({ store, log, runtime }: Duty, rules: readonly Rule[], everyMs: number): Loop {
  const finite = rules.filter(([, ms]) => Number.isFinite(ms))

  async function pruneAll(status: Status, finishedBefore: Date, signal: AbortSignal): Promise<number> {
    let total = 0
    for (let pruned = PRUNE_BATCH; pruned >= PRUNE_BATCH && !signal.aborted; total += pruned)
      pruned = await store.prune({ status, finishedBefore, limit: PRUNE_BATCH })
    return total
  }

  return new Loop({
    log,
    runtime,
    what: 'pruning finished jobs',
    async work(signal) {
      const now = (await store.now()).getTime()
      await store.pruneWorkers(new Date(now - KEEP_WORKERS_MS))
      for (const [status, ms] of finite) {
        const pruned = await pruneAll(status, new Date(Math.max(0, now - ms)), signal)
        if (pruned > 0) log.debug({ status, pruned }, 'pruned finished jobs')
      }
      return everyMs
    },
  })
}

/** A roll-up that counts this many settles is followed by another at once: more are waiting. */
const FULL_ROLL_UP = 1_000
/** While nothing is settled, roll-ups become rarer, up to this many times `everyMs`. */
const RAREST = 6

/** Adds the counts of settles to the statistics. Reads are exact without it, and fast with it. */
function createRollUp({ store, log, runtime }: Duty, everyMs: number): Loop {
  let waitMs = everyMs
  return new Loop({
    log,
    runtime,
    what: 'rolling up statistics',
    async work() {
      const counted = await store.rollUp()
      if (counted >= FULL_ROLL_UP) return 0
      waitMs = counted > 0 ? everyMs : Math.min(waitMs * 2, everyMs * RAREST)
      return waitMs
    },
  })
}
