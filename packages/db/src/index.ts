export type { Capabilities } from './capabilities.ts'
export type { EventStore, JobEvent, NewEvent } from './events.ts'
export { assertMigrated, migrate, migrationStatus, rollback } from './migrate.ts'
export { type OpenOptions, openStore } from './open.ts'
export type { Schedule, ScheduleRow, ScheduleStore } from './schedules.ts'
export type {
  ActionOptions,
  ActionReport,
  Beaten,
  Claimed,
  ClaimedJob,
  ClaimRequest,
  EnqueueIn,
  FailureFilter,
  FailureGroup,
  HeartbeatRequest,
  JobDetails,
  JobFilter,
  JobPage,
  Limit,
  LimitTarget,
  PageRequest,
  Percentiles,
  Presence,
  PruneRule,
  QueueOverview,
  QueueSettings,
  Rescued,
  RunRef,
  SeriesPoint,
  SeriesRequest,
  Settled,
  Settlement,
  Store,
  StoreStats,
  Subscription,
  Target,
  TopicAnnouncement,
  TopicRow,
  WorkerInfo,
  WorkerRow,
} from './store.ts'
export type { PrismaTransaction, QueryTransaction, SqliteTransaction, Transaction } from './transaction.ts'
