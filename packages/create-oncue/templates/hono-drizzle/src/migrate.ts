// Your tables, and those of Oncue, which are in a schema of their own.
import { migrate as migrateTables } from 'drizzle-orm/node-postgres/migrator'
import { migrate } from 'oncue'
import { db, pool, url } from './db/client.ts'

await migrateTables(db, { migrationsFolder: 'drizzle' })
await migrate(url)
await pool.end()
