import type { Runtime } from '@oncue/runtime'
import pg from 'pg'
import {
  bytes,
  type Check,
  type Finding,
  fail,
  lookAll,
  type OldestRows,
  ok,
  oldest,
  type Seen,
  warn,
} from '../portable/finding.ts'
import { toOncueError } from './errors.ts'
import { CONNECT_TIMEOUT_MS, clientFor, hasSessions, prepareSession } from './session.ts'

/** SQL-standard function bodies came with 14. */
const OLDEST_VERSION = 140_000
const SKEW_MS = 1_000
const LONG_TRANSACTION_S = 60
const VERY_LONG_TRANSACTION_S = 1_800
const MANY_DEAD_ROWS = 50_000
const MANY_EARLY_CHECKPOINTS = 100
/** A page for every job that it gives, one for each level of the index, and room for those not vacuumed yet. */
const MANY_PAGES = 1_000

/** For a server that can be reached. `isMigrated` says whether our tables exist. */
export async function diagnosePostgres(
  url: string,
  isMigrated: boolean,
  schema: string,
  runtime: Runtime,
  timeoutMs: number,
): Promise<Finding[]> {
  const pool = new pg.Pool({
    Client: clientFor(schema),
    connectionString: url,
    max: 2,
    application_name: 'oncue doctor',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    query_timeout: timeoutMs,
    onConnect: prepareSession,
  })
  pool.on('error', () => {})
  const checks: Check[] = [
    ['version', () => version(pool)],
    ['clock', () => clock(pool, runtime)],
    ['pooler', () => pooler(pool, url)],
    ['isolation', () => isolation(pool, url)],
    ['connections', () => connections(pool)],
    ['oldest transaction', () => oldestTransaction(pool)],
    ['checkpoints', () => checkpoints(pool)],
  ]
  if (isMigrated)
    checks.push(
      ['claim plan', () => claimPlan(pool, schema, timeoutMs)],
      ['indexes', () => indexes(pool, schema)],
      ['dead rows', () => deadRows(pool, schema)],
      ['size', () => size(pool)],
      ['oldest rows', () => oldestRows(pool)],
    )
  try {
    return await lookAll(checks, toOncueError)
  } finally {
    await pool.end()
  }
}

async function one<Row extends pg.QueryResultRow>(pool: pg.Pool, text: string): Promise<Row> {
  const { rows } = await pool.query<Row>(text)
  return rows[0] ?? Promise.reject(new Error(`no row: ${text}`))
}

async function version(pool: pg.Pool): Promise<Seen> {
  const { number, name } = await one<{ number: number; name: string }>(
    pool,
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as name`,
  )
  if (number >= OLDEST_VERSION) return ok(`Postgres ${name}`)
  return fail(`Postgres ${name}`, 'Oncue needs Postgres 14 or newer: upgrade the server.')
}

async function clock(pool: pg.Pool, runtime: Runtime): Promise<Seen> {
  // The first round trip opens the connection.
  await one(pool, 'select 1')
  const before = runtime.now()
  const { now } = await one<{ now: Date }>(pool, 'select clock_timestamp() as now')
  const after = runtime.now()
  const off = Math.round(Math.max(0, now.getTime() - after, before - now.getTime()))
  const direction = now.getTime() > after ? 'ahead of' : 'behind'
  if (off <= SKEW_MS) return ok(`within a second of this host (a round trip takes ${after - before} ms)`)
  return warn(
    `${(off / 1_000).toFixed(1)} s ${direction} this host`,
    'Oncue uses the clock of the database, so a runAt computed on this host is off by that much. Use `delay`, and synchronise both hosts with NTP.',
  )
}

async function pooler(pool: pg.Pool, url: string): Promise<Seen> {
  if (await hasSessions(url, pool)) return ok('no transaction pooler')
  return warn(
    'transaction pooler detected',
    'LISTEN and presence do not work through it: jobs are found by polling, and the runs of a dead worker wait until their leases expire. Give workers a direct URL.',
  )
}

/** The level that the server, the database or the role sets: our own connections have changed theirs. */
async function isolation(pool: pg.Pool, url: string): Promise<Seen> {
  const { level } = await one<{ level: string }>(
    pool,
    `select reset_val as level from pg_settings where name = 'default_transaction_isolation'`,
  )
  if (level === 'read committed') return ok(level)
  const found = `${level} by default`
  if (!(await hasSessions(url, pool))) {
    return fail(
      `${found}, behind a transaction pooler`,
      "It cannot be set through the pooler, and workers reject it: `alter role … set default_transaction_isolation = 'read committed'`.",
    )
  }
  return warn(
    found,
    'Workers and the API set read committed on their own connections. Your transactions that enqueue with keys can fail with a serialization conflict (40001): repeat them.',
  )
}

async function connections(pool: pg.Pool): Promise<Seen> {
  const { used, max } = await one<{ used: number; max: number }>(
    pool,
    `select count(*)::int as used, current_setting('max_connections')::int as max
     from pg_stat_activity where backend_type = 'client backend'`,
  )
  const found = `${used} of ${max} in use`
  if (used < max * 0.8) return ok(found)
  return warn(found, 'Few connections are left for new workers: raise max_connections, or reduce pool sizes.')
}

async function oldestTransaction(pool: pg.Pool): Promise<Seen> {
  const { rows } = await pool.query<{ what: string; seconds: number }>(
    `select what, extract(epoch from clock_timestamp() - since)::float8 as seconds from (
       select format('pid %s (%s, %s)', pid, coalesce(nullif(application_name, ''), usename), state) as what, xact_start as since
       from pg_stat_activity where xact_start is not null and pid <> pg_backend_pid() and backend_type = 'client backend'
       union all
       select format('prepared transaction %s', gid), prepared from pg_prepared_xacts
     ) t order by since limit 1`,
  )
  const { hidden } = await one<{ hidden: number }>(
    pool,
    `select count(*)::int as hidden from pg_stat_activity where query = '<insufficient privilege>'`,
  )
  const unseen = hidden ? `; ${hidden} sessions of other roles are not visible (grant pg_read_all_stats)` : ''
  const [oldest] = rows
  if (!oldest || oldest.seconds < LONG_TRANSACTION_S) {
    return ok((oldest ? `${oldest.what}, ${oldest.seconds.toFixed(1)} s` : 'none open') + unseen)
  }
  const found = `${oldest.what} has been open for ${Math.round(oldest.seconds / 60)} min${unseen}`
  const advice =
    'While it is open, vacuum cannot remove dead rows, and every queue in this database slows down. End it (pg_terminate_backend), and set idle_in_transaction_session_timeout.'
  return oldest.seconds < VERY_LONG_TRANSACTION_S ? warn(found, advice) : fail(found, advice)
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly PlanNode[]
}

/**
 * The part of a claim that searches for ready jobs, with the settings that the claim has, where most of
 * them wait. It only reads: the function itself would take jobs. Of all checks it alone reads many rows, so the server
 * ends it too; within the transaction, because poolers refuse the setting at the start of a session.
 */
async function claimPlan(pool: pg.Pool, schema: string, timeoutMs: number): Promise<Seen> {
  const client = await pool.connect()
  try {
    await client.query(
      `begin read only; set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off; set local jit = off;
       set local statement_timeout = ${Math.trunc(timeoutMs)}`,
    )
    const { rows: busiest } = await client.query<{ queue: string; priority: number }>(
      `select queue, priority from oncue.jobs where status = 'pending' and visible_at <= clock_timestamp()
       group by queue, priority order by count(*) desc limit 1`,
    )
    const { queue = 'default', priority = 0 } = busiest[0] ?? {}
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, buffers, timing off, format json)
       select j.id from oncue.jobs j
       where j.queue = $1 and j.priority = $2::smallint and j.visible_at <= now()
         and (j.locked_until is null or j.locked_until < now())
       order by j.visible_at, j.id limit 10`,
      [queue, priority],
    )
    const plan = rows[0]?.['QUERY PLAN'][0].Plan
    const nodes = plan ? flatten(plan) : []
    if (!nodes.some((node) => node['Index Name'] === 'jobs_ready')) {
      const way = nodes.map((node) => node['Node Type']).join(', ')
      return fail(
        `it does not use the index jobs_ready (${way})`,
        `The index is missing or invalid: \`reindex index concurrently ${schema}.jobs_ready\`, or restore it from the migrations.`,
      )
    }
    const pages = plan ? plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] : 0
    const found = `uses the index jobs_ready; ${pages} pages read for 10 jobs of ${queue}`
    if (pages <= MANY_PAGES) return ok(found)
    return warn(
      found,
      `Dead entries are at the head of the index: check the oldest transaction, then \`vacuum ${schema}.jobs\`.`,
    )
  } finally {
    // A connection that does not reply is of no use to the next check.
    const isLost = await client.query('rollback').then(
      () => false,
      () => true,
    )
    client.release(isLost)
  }
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)]
}

async function deadRows(pool: pg.Pool, schema: string): Promise<Seen> {
  const { live, dead, size, vacuumed } = await one<{
    live: number
    dead: number
    size: string
    vacuumed: Date | null
  }>(
    pool,
    `select n_live_tup::float8 as live, n_dead_tup::float8 as dead, pg_size_pretty(pg_total_relation_size(relid)) as size,
       greatest(last_vacuum, last_autovacuum) as vacuumed
     from pg_stat_user_tables where relid = 'oncue.jobs'::regclass`,
  )
  const when = vacuumed ? `vacuumed ${vacuumed.toISOString().slice(0, 16)}Z` : 'never vacuumed'
  const found = `${schema}.jobs: ${live} live and ${dead} dead rows, ${size}, ${when}`
  if (dead < MANY_DEAD_ROWS || dead < 2 * live) return ok(found)
  return warn(
    found,
    `Vacuum cannot keep up: check the oldest transaction and that autovacuum is on, then \`vacuum ${schema}.jobs\`.`,
  )
}

/** A build with `concurrently` that failed leaves an index that is written and never used. */
async function indexes(pool: pg.Pool, schema: string): Promise<Seen> {
  const { count, invalid } = await one<{ count: number; invalid: string[] }>(
    pool,
    `select count(*)::int as count,
       coalesce(array_agg(c.relname::text order by c.relname) filter (where not i.indisvalid), '{}') as invalid
     from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = 'oncue'::regnamespace`,
  )
  if (invalid.length === 0) return ok(`all ${count} are valid`)
  return fail(
    `invalid: ${invalid.join(', ')}`,
    `Build them again: ${invalid.map((name) => `\`reindex index concurrently ${schema}.${name}\``).join(', ')}.`,
  )
}

/** The statistics of checkpoints have a view of their own since 17. */
async function checkpoints(pool: pg.Pool): Promise<Seen> {
  const { number } = await one<{ number: number }>(
    pool,
    `select current_setting('server_version_num')::int as number`,
  )
  const { timed, requested, wal } = await one<{ timed: number; requested: number; wal: string }>(
    pool,
    number >= 170_000
      ? `select num_timed::float8 as timed, num_requested::float8 as requested, current_setting('max_wal_size') as wal
         from pg_stat_checkpointer`
      : `select checkpoints_timed::float8 as timed, checkpoints_req::float8 as requested,
           current_setting('max_wal_size') as wal from pg_stat_bgwriter`,
  )
  const found = `${timed} by time and ${requested} early, max_wal_size ${wal}`
  if (requested < MANY_EARLY_CHECKPOINTS || requested <= timed) return ok(found)
  return warn(
    found,
    'Most checkpoints come early, because the WAL fills up: each makes the next writes slower. Raise max_wal_size.',
  )
}

async function size(pool: pg.Pool): Promise<Seen> {
  const { rows } = await pool.query<{ name: string; data: number; index: number }>(
    `select relname::text as name, pg_table_size(oid)::float8 as data, pg_indexes_size(oid)::float8 as index
     from pg_class where relnamespace = 'oncue'::regnamespace and relkind = 'r'
     order by pg_total_relation_size(oid) desc`,
  )
  const sum = (part: 'data' | 'index') => rows.reduce((total, row) => total + row[part], 0)
  const [data, index] = [sum('data'), sum('index')]
  const largest = rows.slice(0, 3).map((row) => `${row.name} ${bytes(row.data + row.index)}`)
  return ok(
    `${bytes(data + index)}: tables ${bytes(data)}, indexes ${bytes(index)}; largest ${largest.join(', ')}`,
  )
}

/** By their ids, which begin with the time: no other index has all of them in order. */
async function oldestRows(pool: pg.Pool): Promise<Seen> {
  return oldest(
    await one<OldestRows>(
      pool,
      `select (select created from oncue.jobs order by id limit 1) as live,
         (select created from oncue.history order by id limit 1) as finished, clock_timestamp() as now`,
    ),
  )
}
