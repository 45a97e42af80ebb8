import type { Store } from '@oncue/db'
import { Leader, type Service } from '@oncue/runtime'
import type { Logger } from '../observability/log.ts'
import { createPruner, type Retention } from './pruner.ts'
import { createRollUp } from './roll-up.ts'
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
