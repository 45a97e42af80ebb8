import type {} from './global-setup.ts'

export { describeCatalog } from './catalog.ts'
export { createEmptyPostgresDatabase, createPostgresDatabase } from './postgres-database.ts'
export { type PostgresOptions, type PostgresServer, startPostgres } from './postgres-server.ts'
export { createEmptySqliteDatabase, createSqliteDatabase } from './sqlite-database.ts'
export type { TestDatabase } from './test-database.ts'
