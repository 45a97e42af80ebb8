import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { type Failed, failuresStatement } from '../src/portable/reads/failures.ts'
import { type Sql, toSqlite } from '../src/portable/sql.ts'
import { PostgresClient } from '../src/postgres/client.ts'
import { postgresSql } from '../src/postgres/sql-access.ts'
import { Bench } from './conformance/harness.ts'
import { createPostgresDatabase, createSqliteDatabase } from './support/index.ts'

/** One a second, by turns in one of ten ways, and the last in a way that is new. */
const COUNT = 20_000
const RECENT = 100
const HISTORY = `insert into oncue.history (id, created, started_at, finished_at, status, run, timeout_ms, priority,
    retries, max_retries, crashes, queue, topic, payload, fingerprint)
  select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, at, at, at, 'failed', 1, 1000, 0, 0, 3, 0,
    'default', 'topic-' || n % 7, '{}', case when n = ${COUNT} then 'new' else 'f' || n % 10 end
  from generate_series(1, ${COUNT}) n, lateral (select '2026-01-01'::timestamptz + n * interval '1 second' as at) t`

const since = new Date(Date.parse('2026-01-01') + (COUNT - RECENT + 1) * 1_000)
const FAILED: Failed = { since, newSince: since, partMs: 60_000, limit: 50 }

type Plan = {
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

describe('failures on Postgres', () => {
  let client: PostgresClient
  let sql: Sql
  const bench = new Bench({
    name: 'Postgres',
    createDatabase: () => createPostgresDatabase(inject('postgresUrl')),
    transactions: [],
  })

  beforeEach(async () => {
    client = new PostgresClient(bench.url, 1)
    sql = postgresSql(client, async () => new Date())
    await client.query({ text: 'alter table oncue.history set (autovacuum_enabled = off)', values: [] })
    await client.query({ text: HISTORY, values: [] })
  })
  afterEach(() => client.close())

  /** What was read of history, by index: rows that were taken or thrown away. */
  const readsOf = async (failed: Failed) => {
    const { text, values } = failuresStatement('postgres', failed)
    const [row] = await sql.walk<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
      text: `explain (analyze, format json) ${text}`,
      values,
    })
    const scans = nodesOf(row?.['QUERY PLAN'][0].Plan ?? expect.unreachable()).filter(
      (node) => node['Relation Name'] === 'history',
    )
    return scans.map((node) => {
      const perLoop = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)
      return { index: node['Index Name'], rows: perLoop * (node['Actual Loops'] ?? 0) }
    })
  }

  test.each([
    ['without statistics', false],
    ['with statistics', true],
  ])('read what failed in the time asked for, once, and little else: %s', async (_, isAnalyzed) => {
    if (isAnalyzed) await client.query({ text: 'analyze oncue.history', values: [] })
    const reads = await readsOf(FAILED)
    expect(new Set(reads.map(({ index }) => index))).toEqual(
      new Set(['history_failed', 'history_pkey', 'history_fingerprint']),
    )
    const groups = 11
    const total = reads.reduce((sum, { rows }) => sum + rows, 0)
    // The pass itself; and for each group its sample, twice, and one that failed before.
    expect(total).toBeLessThanOrEqual(RECENT + 3 * groups)
  })

  test('of one fingerprint read none of another', async () => {
    const reads = await readsOf({ ...FAILED, fingerprint: 'f3' })
    expect(Math.max(...reads.map(({ rows }) => rows))).toBeLessThanOrEqual(COUNT / 10)
  })
})

describe('failures on SQLite', () => {
  const bench = new Bench({ name: 'SQLite', createDatabase: createSqliteDatabase, transactions: [] })

  test('read what failed in the time asked for, once, and look the rest up', () => {
    const db = new Database(bench.url.slice('file:'.length))
    const { text, values } = toSqlite(failuresStatement('sqlite', FAILED))
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(values) as { detail: string }[]
    db.close()
    const reads = plan.flatMap(({ detail }) => (/^(SCAN|SEARCH) [hs] /.test(detail) ? [detail] : []))
    expect(reads).toEqual([
      expect.stringMatching(/^SEARCH h USING INDEX oncue_history_failed \(finished_at>/),
      expect.stringMatching(/^SEARCH s USING PRIMARY KEY/),
      expect.stringMatching(/^SEARCH h USING COVERING INDEX oncue_history_failed \(finished_at=\?\)/),
      expect.stringMatching(/^SEARCH h USING INDEX oncue_history_fingerprint \(fingerprint=\? AND created</),
    ])
  })
})

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}
