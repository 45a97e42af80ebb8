import type {} from './global-setup.ts'

export { fn } from '../../src/postgres/sql.ts'
export { describeCatalog } from './catalog.ts'
export { describeContents } from './contents.ts'
export { createDatabase, DIALECTS, type Dialect } from './dialects.ts'
export { holdWrites } from './hold-writes.ts'
export {
  borrowPostgresDatabase,
  createEmptyPostgresDatabase,
  createPostgresDatabase,
} from './postgres-database.ts'
export { type PostgresPair, startPostgresPair } from './postgres-pair.ts'
export { openPool } from './postgres-pool.ts'
export { type PostgresOptions, type PostgresServer, startPostgres } from './postgres-server.ts'
export { connectPostgres, type PostgresSession } from './postgres-session.ts'
export { createEmptySqliteDatabase, createSqliteDatabase } from './sqlite-database.ts'
export type { TestDatabase } from './test-database.ts'
