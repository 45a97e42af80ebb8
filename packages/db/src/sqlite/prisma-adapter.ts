// In the published package a bundle stands here: see prisma/bundle-adapters.ts.
export { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
