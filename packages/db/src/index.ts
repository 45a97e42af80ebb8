export type {
  AuditStore,
  NewAuditEntry,
  PairingStore,
  TokenKind,
  TokenRow,
  TokenStore,
} from './access.ts'
export { toTarget } from './actions.ts'
export type {
  AlertChange,
  AlertEpisode,
  AlertFilter,
  AlertPage,
  AlertRow,
  AlertRuleChange,
  AlertRuleRow,
  AlertStore,
  NewAlertRule,
} from './alerts.ts'
export type { Capabilities } from './capabilities.ts'
export type { Attempt, ChannelChange, ChannelRow, ChannelStore, NewChannel } from './channels.ts'
export type { Finding } from './diagnose/finding.ts'
export { type DiagnoseOptions, diagnose } from './diagnose.ts'
export { encodeEvents } from './events/check.ts'
export type { EventStore, JobEvent, NewEvent } from './events.ts'
export type { Gauge, GaugeStore, Look, LookRange } from './gauges.ts'
export { DURATION_BUCKETS_MS } from './histogram.ts'
export {
  assertMigrated,
  migrate,
  migrationStatus,
  previewRollback,
  removeFunctions,
  rollback,
} from './migrate.ts'
export { type OpenOptions, openStore } from './open.ts'
export {
  type NewOperation,
  OPERATION_LEAD,
  type OperationError,
  type OperationPage,
  type OperationPreview,
  type OperationRequest,
  type OperationRow,
  type OperationStatus,
  type OperationStore,
} from './operations.ts'
export {
  type DrizzleSql,
  type DrizzleTransaction,
  fromDrizzle,
  fromKysely,
  type KyselyTransaction,
} from './query-builders.ts'
export { createQueue, type Queue, type QueuedJob, type QueueOptions } from './queue.ts'
export type { PoolHost, PrismaHost, SqliteHost } from './queue-home.ts'
export { nextRuns } from './schedules/next-runs.ts'
export type { Schedule, ScheduleRow, ScheduleStore } from './schedules.ts'
export type {
  ActionFilter,
  ActionOptions,
  ActionReport,
  ActivityPoint,
  AnnouncedBy,
  Beaten,
  Claimed,
  ClaimedJob,
  ClaimRequest,
  Durations,
  EnqueueIn,
  EnqueueOutcome,
  FailureFilter,
  FailureGroup,
  HeartbeatRequest,
  JobDetails,
  JobFilter,
  JobGlance,
  JobPage,
  JobStats,
  Limit,
  LimitTarget,
  PageRequest,
  PoolState,
  Presence,
  PruneRule,
  QueueOverview,
  QueueSettings,
  Rescue,
  Rescued,
  RunNote,
  RunRef,
  SeriesPoint,
  SeriesRequest,
  Settled,
  Settlement,
  Store,
  Subscription,
  Target,
  TopicAnnouncement,
  TopicClash,
  TopicRow,
  WorkerInfo,
  WorkerRow,
} from './store.ts'
export type { PrismaTransaction, QueryTransaction, SqliteTransaction, Transaction } from './transaction.ts'
export { chooseDatabase, dialectOf, showDatabase, sqliteFile, withoutPassword } from './url.ts'
