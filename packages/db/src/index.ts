export type { Capabilities } from './capabilities.ts'
export { type CommonConfig, readConfig as readCommonConfig } from './config.ts'
export { type DiagnoseOptions, diagnose } from './diagnose.ts'
export {
  assertMigrated,
  migrate,
  migrationStatus,
  previewRollback,
  removeFunctions,
  rollback,
} from './migrate/migrate.ts'
export { type OpenOptions, openStore } from './open.ts'
export { ACTION_METHODS, toTarget } from './portable/actions.ts'
export type { AlertChange, AlertEpisode, AlertRow, AlertRuleRow, AlertStore } from './portable/alerts.ts'
export type { NewAnswer } from './portable/asks.ts'
export type { AuditStore, NewAuditEntry } from './portable/audit.ts'
export {
  BULK_OPERATION_LEAD,
  type BulkOperationError,
  type BulkOperationPreview,
  type BulkOperationRequest,
  type BulkOperationRow,
  type BulkOperationStatus,
  type BulkOperationStore,
  type NewBulkOperation,
} from './portable/bulk-operations.ts'
export { awaitsCanary } from './portable/bulk-outcomes.ts'
export type { ChannelRow, ChannelStore } from './portable/channels.ts'
export type { EndedChildren, NewSpawn, RunSpawns, Spawned } from './portable/children.ts'
export { nextRuns, previewRuns } from './portable/cron.ts'
export type { EventStore, JobEvent, NewEvent, RunEvent } from './portable/events/event.ts'
export { encodeEvents } from './portable/events/event.ts'
export type { Finding } from './portable/finding.ts'
export {
  type Gauge,
  type GaugeRange,
  type GaugeSample,
  type GaugeStore,
  shrinkage,
  timeToDrain,
} from './portable/gauges.ts'
export type {
  Asking,
  ChildResults,
  CommitSettings,
  CommitStatements,
  CommittedResult,
  CompletedRun,
  DurableStore,
  NewOutcome,
  NewSignal,
  Outcome,
  OutcomeKind,
  Recorded,
  RunOutcomes,
  SuspendedWait,
} from './portable/outcomes.ts'
export type { PairingStore } from './portable/pairings.ts'
export type { Schedule, ScheduleRow, ScheduleStore } from './portable/schedules.ts'
export { DURATION_BUCKETS_MS } from './portable/stats.ts'
export type { TokenKind, TokenRow, TokenStore } from './portable/tokens.ts'
export type { PoolHost, PrismaHost, SqliteHost, TransactionHost } from './queue/hosts.ts'
export {
  fromKnex,
  fromMikroOrm,
  fromPostgresJs,
  fromTypeOrm,
  type KnexTransaction,
  type MikroOrmTransaction,
  type PostgresJsTransaction,
  type TypeOrmTransaction,
} from './queue/orm-transactions.ts'
export {
  type DrizzleSql,
  type DrizzleTransaction,
  fromDrizzle,
  fromKysely,
  type KyselyTransaction,
} from './queue/query-builders.ts'
export { createQueue, type Queue, type QueuedJob, type QueueOptions } from './queue/queue.ts'
export { isRepeatable } from './queue/repeatable.ts'
export { assertSameDatabase, whileMarked } from './queue/same-database.ts'
export type {
  PrismaTransaction,
  QueryTransaction,
  SqliteTransaction,
  Transaction,
} from './queue/transaction.ts'
export { transactionsOf } from './queue/transactions.ts'
export type * from './store.ts'
export {
  type ChosenDatabase,
  chooseDatabase,
  dialectOf,
  showDatabase,
  sqliteFile,
  withoutPassword,
} from './url.ts'
