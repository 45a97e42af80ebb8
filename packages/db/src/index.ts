export type { Capabilities } from './capabilities.ts'
export { assertMigrated, migrate, migrationStatus, rollback } from './migrate.ts'
export { type OpenOptions, openStore } from './open.ts'
export type {
  ActionReport,
  Claimed,
  ClaimedJob,
  ClaimRequest,
  EnqueueIn,
  HeartbeatRequest,
  JobPage,
  ListFilter,
  Presence,
  Rescued,
  RunRef,
  Settled,
  Settlement,
  Store,
  StoreStats,
  WorkerInfo,
} from './store.ts'
export type { PrismaTransaction, QueryTransaction, SqliteTransaction, Transaction } from './transaction.ts'
