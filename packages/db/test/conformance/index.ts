import { describe } from 'vitest'
import { describeAccess } from './access.ts'
import { describeActions } from './actions.ts'
import { describeAlerts } from './alerts.ts'
import { describeAsks } from './asks.ts'
import { describeBulkOperations } from './bulk-operations.ts'
import { describeChannels } from './channels.ts'
import { describeChildren } from './children.ts'
import { describeClaim } from './claim.ts'
import { describeDependencies } from './dependencies.ts'
import { describeDurable } from './durable.ts'
import { describeEnqueue } from './enqueue.ts'
import { describeEvents } from './events.ts'
import { describeExplain } from './explain.ts'
import { describeFailures } from './failures.ts'
import { describeFamily } from './family.ts'
import { describeFlows } from './flows.ts'
import { describeGauges } from './gauges.ts'
import type { Dialect } from './harness.ts'
import { describeKeys } from './keys.ts'
import { describeLeaders } from './leaders.ts'
import { describeLease } from './lease.ts'
import { describeLimits } from './limits.ts'
import { describePaging } from './paging.ts'
import { describePairings } from './pairings.ts'
import { describePayloadChanges } from './payload-changes.ts'
import { describeProcesses } from './processes.ts'
import { describeProgress } from './progress.ts'
import { describePrune } from './prune.ts'
import { describeQueues } from './queues.ts'
import { describeReads } from './reads.ts'
import { describeReplace } from './replace.ts'
import { describeRequests } from './requests.ts'
import { describeRequeueFrom } from './requeue-from.ts'
import { describeSchedules } from './schedules.ts'
import { describeSettings } from './settings.ts'
import { describeSettle } from './settle.ts'
import { describeStats } from './stats.ts'
import { describeTimeline } from './timeline.ts'
import { describeTransactions } from './transactions.ts'
import { describeUndo } from './undo.ts'
import { describeWakeups } from './wakeups.ts'
import { describeWorkers } from './workers.ts'

export { type Dialect, TestClock, type TransactionKind } from './harness.ts'

const PARTS = {
  enqueue: describeEnqueue,
  transactions: describeTransactions,
  claim: describeClaim,
  settle: describeSettle,
  lease: describeLease,
  progress: describeProgress,
  keys: describeKeys,
  requests: describeRequests,
  replace: describeReplace,
  limits: describeLimits,
  queues: describeQueues,
  dependencies: describeDependencies,
  flows: describeFlows,
  actions: describeActions,
  payloadChanges: describePayloadChanges,
  events: describeEvents,
  durable: describeDurable,
  asks: describeAsks,
  children: describeChildren,
  undo: describeUndo,
  timeline: describeTimeline,
  requeueFrom: describeRequeueFrom,
  wakeups: describeWakeups,
  schedules: describeSchedules,
  reads: describeReads,
  paging: describePaging,
  explain: describeExplain,
  failures: describeFailures,
  family: describeFamily,
  gauges: describeGauges,
  stats: describeStats,
  prune: describePrune,
  leaders: describeLeaders,
  access: describeAccess,
  pairings: describePairings,
  settings: describeSettings,
  alerts: describeAlerts,
  channels: describeChannels,
  bulkOperations: describeBulkOperations,
  workers: describeWorkers,
  processes: describeProcesses,
}

/** What every store must do, on a real database. Run for each dialect; a skip needs a capability flag and a reason. */
export function describeStore(dialect: Dialect, without: readonly (keyof typeof PARTS)[] = []): void {
  describe(`${dialect.name} store`, () => {
    for (const [name, describePart] of Object.entries(PARTS))
      if (!(without as readonly string[]).includes(name)) describePart(dialect)
  })
}
