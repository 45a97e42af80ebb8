import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import * as schema from './schema.ts'

export const url = process.env.DATABASE_URL ?? 'postgres://postgres:postgres@localhost:5432/postgres'
export const pool = new pg.Pool({ connectionString: url })
export const db = drizzle(pool, { schema })
export type Database = typeof db
