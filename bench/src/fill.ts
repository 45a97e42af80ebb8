import type pg from 'pg'
import { progress } from './report.ts'

/**
 * What an `insert … select` over a series of numbers `n` needs, by which a million rows take seconds. Expressions are
 * the same on both databases except for these; times are milliseconds.
 */
export interface Dialect {
  readonly table: (name: string) => string
  readonly series: (from: number, to: number) => string
  readonly time: (ms: string) => string
  /** Unique for a pair of a time and a number. */
  readonly id: (ms: string, n?: string) => string
  readonly status: (text: string) => string
  readonly json: (text: string) => string
  readonly jsonb: (text: string) => string
}

const POSTGRES: Dialect = {
  table: (name) => `oncue.${name}`,
  series: (from, to) => `(select n::bigint from generate_series(${from}, ${to - 1}) as n) s`,
  time: (ms) => `to_timestamp((${ms}) / 1000.0)`,
  id: (ms, n = 'n') =>
    `(lpad(to_hex(${ms}), 12, '0') || '7' || lpad(to_hex(${n} % 4096), 3, '0') || '8' || lpad(to_hex(${n}), 15, '0'))::uuid`,
  status: (text) => `(${text})::oncue."Status"`,
  json: (text) => `(${text})::json`,
  jsonb: (text) => `(${text})::jsonb`,
}

const SQLITE: Dialect = {
  table: (name) => `oncue_${name}`,
  series: (from, to) =>
    `(WITH RECURSIVE c(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM c WHERE n < ${to - 1}) SELECT n FROM c) s`,
  time: (ms) => ms,
  id: (ms, n = 'n') =>
    `printf('%08x-%04x-7%03x-8000-%012x', (${ms}) >> 16, (${ms}) & 65535, ${n} % 4096, ${n})`,
  status: (text) => text,
  json: (text) => text,
  jsonb: (text) => text,
}

export type DatabaseName = 'postgres' | 'sqlite'

export const dialectOf = (name: DatabaseName): Dialect => (name === 'postgres' ? POSTGRES : SQLITE)

export type Run = (sql: string) => unknown | Promise<unknown>

/** Fills the tables of finished jobs without their indexes: built at the end, they take a fraction of the time. */
export async function withoutIndexes(admin: pg.Client, fill: () => Promise<void>): Promise<void> {
  const { rows } = await admin.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where schemaname = 'oncue' and tablename in ('history', 'job_meta') and indexname <> 'history_pkey'`,
  )
  await admin.query('alter table oncue.job_meta drop constraint if exists job_meta_pkey')
  for (const { name } of rows) await admin.query(`drop index if exists oncue.${name}`)
  await fill()
  for (const { definition } of rows) {
    progress(`${definition.slice(0, 60)} …`)
    await admin.query(definition)
  }
}
