import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { gaveUpBetween, recoveredBetween } from '../src/portable/alerts.ts'
import { type Failed, failuresStatement } from '../src/portable/reads/failures.ts'
import { type Sql, toSqlite } from '../src/portable/sql.ts'
import { PostgresClient } from '../src/postgres/client.ts'
import { postgresSql } from '../src/postgres/sql-access.ts'
import { Bench } from './conformance/harness.ts'
import { createPostgresDatabase, createSqliteDatabase } from './support/index.ts'

/** One failure a second, cycling through ten errors; the last has a new error. */
const COUNT = 20_000
const RECENT = 100
const HISTORY = `insert into oncue.history (id, created, started_at, finished_at, status, run, timeout_ms, priority,
    retries, max_retries, crashes, queue, topic, payload, fingerprint)
  select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, at, at, at, 'failed', 1, 1000, 0, 0, 3, 0,
    'default', 'topic-' || n % 7, '{}', case when n = ${COUNT} then 'new' else 'f' || n % 10 end
  from generate_series(1, ${COUNT}) n, lateral (select '2026-01-01'::timestamptz + n * interval '1 second' as at) t`

/** Retrying jobs with one error, due in the next minutes, and one with another; and as many that have not run. */
const retrying = (
  fingerprint: string,
) => `insert into oncue.jobs (id, run_at, visible_at, created, updated, status, timeout_ms, priority, max_retries,
    retries, queue, topic, payload, fingerprint)
  select ('01900000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, at, at, '2026-01-01', '2026-01-01', 'pending', 1000,
    0, 3, 1, case when n = 2 then 'other' else 'default' end, 'topic', '{}',
    ${fingerprint}
  from generate_series(1, $1::integer * 2) n, lateral (select '2026-01-02'::timestamptz + n * interval '1 millisecond' as at) t`

const since = new Date(Date.parse('2026-01-01') + (COUNT - RECENT + 1) * 1_000)
const FAILED: Failed = { now: new Date('2026-01-02'), since, newSince: since, partMs: 60_000, limit: 50 }

type Plan = {
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
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

  const planOf = async (failed: Failed) => {
    const { text, values } = failuresStatement('postgres', failed)
    const [row] = await sql.walk<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
      text: `explain (analyze, buffers, format json) ${text}`,
      values,
    })
    return row?.['QUERY PLAN'][0].Plan ?? expect.unreachable()
  }

  /** Rows of a table that were read, by index: those returned and those discarded. */
  const readsOf = async (failed: Failed, table = 'history') => {
    const scans = nodesOf(await planOf(failed)).filter((node) => node['Relation Name'] === table)
    return scans.map((node) => {
      const perLoop = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)
      return { index: node['Index Name'], rows: perLoop * (node['Actual Loops'] ?? 0) }
    })
  }

  test.each([
    ['without statistics', false],
    ['with statistics', true],
  ])('read what failed in the requested time, once, and little else: %s', async (_, isAnalyzed) => {
    if (isAnalyzed) await client.query({ text: 'analyze oncue.history', values: [] })
    const reads = await readsOf(FAILED)
    expect(new Set(reads.map(({ index }) => index))).toEqual(
      new Set(['history_failed', 'history_pkey', 'history_fingerprint']),
    )
    const groups = 11
    const total = reads.reduce((sum, { rows }) => sum + rows, 0)
    // The pass itself; and for each group its sample, twice, and one earlier failure.
    expect(total).toBeLessThanOrEqual(RECENT + 3 * groups)
  })

  test('of one fingerprint read no rows of another', async () => {
    const reads = await readsOf({ ...FAILED, fingerprint: 'f3' })
    expect(Math.max(...reads.map(({ rows }) => rows))).toBeLessThanOrEqual(COUNT / 10)
  })
})

/** Many jobs that failed once and completed: whether an error was seen lately must not cost a walk over them. */
const RECOVERED = HISTORY.replace("'failed', 1", "'completed', 2")
const LATELY = [since, new Date('2026-01-02')] as const

describe.each([
  ['without statistics', false],
  ['with statistics', true],
])('whether an error was seen, on Postgres: %s', (_, isAnalyzed) => {
  const bench = new Bench({
    name: 'Postgres',
    createDatabase: () => createPostgresDatabase(inject('postgresUrl')),
    transactions: [],
  })

  let client: PostgresClient
  beforeEach(() => {
    client = new PostgresClient(bench.url, 1)
  })
  afterEach(() => client.close())

  test.each([
    ['gave up', HISTORY, gaveUpBetween, 'history_fingerprint'],
    ['recovered', RECOVERED, recoveredBetween, 'history_recovered'],
  ])('is found by one row of those that %s', async (_, filling, statement, index) => {
    await client.query({ text: 'alter table oncue.history set (autovacuum_enabled = off)', values: [] })
    await client.query({ text: filling, values: [] })
    if (isAnalyzed) await client.query({ text: 'analyze oncue.history', values: [] })
    const sql = postgresSql(client, async () => new Date())
    for (const fingerprint of ['f3', 'never seen']) {
      const { text, values } = statement(fingerprint, ...LATELY)
      const explain = { text: `explain (analyze, buffers, format json) ${text}`, values }
      const [row] = await sql.walk<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explain)
      const plan = row?.['QUERY PLAN'][0].Plan ?? expect.unreachable()
      const scans = nodesOf(plan).filter((node) => node['Relation Name'] === 'history')
      expect(scans.map((node) => node['Index Name'])).toEqual([index])
      expect(scans[0]?.['Actual Rows']).toBe(fingerprint === 'f3' ? 1 : 0)
      expect(scans[0]?.['Rows Removed by Filter'] ?? 0).toBe(0)
    }
  })
})

describe.each([
  ['without statistics', false],
  ['with statistics', true],
])('failures of many retrying jobs on Postgres: %s', (_, isAnalyzed) => {
  const bench = new Bench({
    name: 'Postgres',
    createDatabase: () => createPostgresDatabase(inject('postgresUrl')),
    transactions: [],
  })

  let client: PostgresClient
  let sql: Sql

  beforeEach(async () => {
    client = new PostgresClient(bench.url, 1)
    sql = postgresSql(client, async () => new Date())
    await client.query({ text: 'alter table oncue.jobs set (autovacuum_enabled = off)', values: [] })
  })
  afterEach(() => client.close())

  const ONE_LARGE = `case when n % 2 = 1 then 'f1' when n = 2 then 'f2' end`
  const fill = async (count: number, fingerprint = ONE_LARGE) => {
    await client.query({ text: 'truncate oncue.jobs', values: [] })
    await client.query({ text: retrying(fingerprint), values: [count] })
    if (isAnalyzed) await client.query({ text: 'analyze oncue.jobs', values: [] })
  }

  const readFor = async (failed: Failed) => {
    const { text, values } = failuresStatement('postgres', failed)
    const groups = await sql.walk<{ fingerprint: string; retrying: number; beyond: number }>({ text, values })
    const explain = { text: `explain (analyze, buffers, format json) ${text}`, values }
    const [row] = await sql.walk<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explain)
    const plan = row?.['QUERY PLAN'][0].Plan ?? expect.unreachable()
    const scans = nodesOf(plan).filter((node) => node['Relation Name'] === 'jobs')
    const taken = (node: Plan) => (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)
    return {
      blocks: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
      rows: scans.reduce((sum, node) => sum + taken(node) * (node['Actual Loops'] ?? 0), 0),
      indexes: new Set(scans.map((node) => node['Index Name'])),
      groups: groups.map(({ fingerprint, retrying, beyond }) => [fingerprint, retrying, beyond]),
    }
  }

  test('read no more when there are 100,000 instead of 20,000', async () => {
    const filters = [{}, { queue: 'other' }, { queue: 'default' }, { fingerprint: 'f1' }]
    const readAll = async (count: number) => {
      await fill(count)
      const reads = []
      for (const only of filters) reads.push(await readFor({ ...FAILED, ...only }))
      return reads
    }
    const few = await readAll(20_000)
    const many = await readAll(100_000)
    for (const [n, { groups, rows, blocks, indexes }] of many.entries()) {
      expect(groups).toEqual(few[n]?.groups)
      expect(rows).toBe(few[n]?.rows)
      expect(rows).toBeLessThanOrEqual(10_001 + 500)
      // It would be five times as many if it grew with the jobs. A deeper index may add a few.
      expect(blocks).toBeLessThanOrEqual(2 * (few[n]?.blocks ?? 0))
      expect(indexes).toEqual(new Set(['jobs_failing', 'jobs_pkey']))
    }
  })

  test('are counted up to 10,000, and reported as a lower bound beyond', async () => {
    await fill(10_000)
    expect((await readFor(FAILED)).groups).toEqual([
      ['f1', 10_000, 0],
      ['f2', 1, 0],
    ])
    await fill(10_001)
    expect((await readFor(FAILED)).groups).toEqual([
      ['f1', 10_000, 1],
      ['f2', 1, 0],
    ])
  })

  test('of many errors are counted up to 100,000 in all, the same number of each', async () => {
    const kinds = 40
    await fill(60_000, `case when n > 2 then 'g' || n % ${kinds} end`)
    const { groups, rows } = await readFor({ ...FAILED, limit: kinds })
    expect(groups.map(([, retrying, beyond]) => [retrying, beyond])).toEqual(
      new Array(kinds).fill([2_500, 1]),
    )
    expect(rows).toBeLessThanOrEqual(100_000 + 110 * kinds)
  })
})

describe('failures on SQLite', () => {
  const bench = new Bench({ name: 'SQLite', createDatabase: createSqliteDatabase, transactions: [] })

  test('read what failed in the requested time, once, and look the rest up', () => {
    const db = new Database(bench.url.slice('file:'.length))
    const { text, values } = toSqlite(failuresStatement('sqlite', FAILED))
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(values) as { detail: string }[]
    db.close()
    const reads = plan.flatMap(({ detail }) => (/^(SCAN|SEARCH) [hjxn] /.test(detail) ? [detail] : []))
    const ofKind = 'fingerprint=? AND queue=? AND topic=?'
    const failing = (on: string) => `SEARCH x USING COVERING INDEX oncue_jobs_failing (${on})`
    expect(reads.filter((read) => / [jxn] /.test(read))).toEqual([
      // Which errors there are: the first, and from each the next.
      'SEARCH n USING PRIMARY KEY (id=?)',
      failing('fingerprint>?'),
      'SEARCH n USING PRIMARY KEY (id=?)',
      failing('fingerprint=? AND queue=? AND topic>?'),
      failing('fingerprint=? AND queue>?'),
      failing('fingerprint>?'),
      // The first and the last one to be retried.
      'SEARCH n USING PRIMARY KEY (id=?)',
      failing(ofKind),
      'SEARCH n USING PRIMARY KEY (id=?)',
      failing(ofKind),
      // The count, and the next retry.
      failing(ofKind),
      failing(`${ofKind} AND run_at>?`),
      'SEARCH j USING PRIMARY KEY (id=?)',
    ])
    expect(reads.filter((read) => read.includes(' h '))).toEqual([
      expect.stringMatching(/^SEARCH h USING INDEX oncue_history_failed \(finished_at>/),
      expect.stringMatching(/^SEARCH h USING COVERING INDEX oncue_history_failed \(finished_at=\?\)/),
      expect.stringMatching(/^SEARCH h USING PRIMARY KEY/),
      expect.stringMatching(/^SEARCH h USING INDEX oncue_history_fingerprint \(fingerprint=\? AND created</),
    ])
  })
})

describe('whether an error was seen, on SQLite', () => {
  const bench = new Bench({ name: 'SQLite', createDatabase: createSqliteDatabase, transactions: [] })

  test.each([
    [gaveUpBetween, 'oncue_history_fingerprint (fingerprint=? AND created>? AND created<?)'],
    [recoveredBetween, 'oncue_history_recovered (fingerprint=? AND finished_at>? AND finished_at<?)'],
  ])('is looked up in an index', (statement, index) => {
    const db = new Database(bench.url.slice('file:'.length))
    const { text, values } = toSqlite(statement('f3', ...LATELY))
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(values) as { detail: string }[]
    db.close()
    expect(plan.map(({ detail }) => detail.replace('COVERING ', ''))).toEqual([
      `SEARCH oncue_history USING INDEX ${index}`,
    ])
  })
})

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}
