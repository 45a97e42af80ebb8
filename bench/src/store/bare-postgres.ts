import pg from 'pg'
import { type BareContender, LEASE_MS, QUEUE, type Run, WORKER } from './contender.ts'

/*
 * What a careful engineer would write by hand: everything that Oncue stores about a plain job, in
 * tables with only the columns, constraints and indexes that this needs. Claims are heap-only here too.
 */
const TABLES = `
create schema bench;
create table bench.jobs (
  id uuid primary key,
  run_at timestamptz not null,
  created timestamptz not null,
  locked_until timestamptz,
  started_at timestamptz,
  locked_by uuid,
  run integer not null default 0,
  timeout_ms integer not null,
  priority smallint not null,
  retries smallint not null default 0,
  max_retries smallint not null,
  queue text not null,
  topic text not null,
  payload json
) with (fillfactor = 50);
create index on bench.jobs (queue, priority desc, run_at, id);
create index on bench.jobs (topic, created, id);
create table bench.history (
  id uuid primary key,
  run_at timestamptz not null,
  created timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz not null,
  locked_by uuid,
  run integer not null,
  timeout_ms integer not null,
  priority smallint not null,
  retries smallint not null,
  max_retries smallint not null,
  status smallint not null,
  queue text not null,
  topic text not null,
  payload json,
  result json
);
create index on bench.history (topic, created, id) where status = 1;
create table bench.counts (minute timestamptz not null, queue text not null, topic text not null, completed integer not null);`

const INSERT = `insert into bench.jobs (id, payload, queue, topic, priority, max_retries, timeout_ms, run_at, created)`
const INSERT_MANY = `${INSERT}
select s.id, s.payload, $3, $4, $5, $6, $7, now(), now() from unnest($1::uuid[], $2::json[]) as s(id, payload)`
const INSERT_ONE = `${INSERT} values ($1, $2, $3, $4, $5, $6, $7, now(), now())`

// By ctid: no second search for rows that were just found and locked.
const CLAIM = `update bench.jobs set
  locked_until = now() + $3 * interval '1 ms', locked_by = $4, started_at = now(), run = run + 1
where ctid = any (array(
  select ctid from bench.jobs
  where queue = $1 and run_at <= now() and (locked_until is null or locked_until < now())
  order by priority desc, run_at, id
  limit $2
  for update skip locked))
returning id, run, topic, payload, retries, max_retries, timeout_ms, created`

const SETTLE = `with done as (
  delete from bench.jobs j using unnest($1::uuid[], $2::int[]) as s(id, run)
  where j.id = s.id and j.run = s.run returning j.*
), counted as (
  insert into bench.counts select date_trunc('minute', now()), queue, topic, count(*) from done group by queue, topic
)
insert into bench.history
  (id, run_at, created, started_at, finished_at, locked_by, run, timeout_ms, priority, retries, max_retries,
   status, queue, topic, payload)
select id, run_at, created, started_at, now(), locked_by, run, timeout_ms, priority, retries, max_retries,
  1, queue, topic, payload
from done`

export const RESET =
  'truncate oncue.jobs, oncue.history, oncue.payloads, oncue.stat_deltas, bench.jobs, bench.history, bench.counts'

export async function createBareTables(admin: pg.Client): Promise<void> {
  await admin.query(TABLES)
}

/** Two statements a batch on one connection, each prepared once and committed by itself. */
export async function openBarePostgres(url: string): Promise<BareContender> {
  const client = new pg.Client(url)
  await client.connect()
  const contender = bareOn(client)
  return { ...contender, close: () => client.end() }
}

/** On a connection of the caller, in its transaction. */
export function bareOn(client: pg.Client): BareContender {
  const claim = async (limit: number): Promise<readonly Run[]> => {
    const { rows } = await client.query<Run>({
      name: 'claim',
      text: CLAIM,
      values: [QUEUE, limit, LEASE_MS, WORKER],
    })
    return rows
  }
  const settle = async (runs: readonly Run[]) => {
    const values = [runs.map(({ id }) => id), runs.map(({ run }) => run)]
    const { rowCount } = await client.query({ name: 'settle', text: SETTLE, values })
    if (rowCount !== runs.length) throw new Error(`settled ${rowCount} of ${runs.length}`)
  }
  return {
    name: 'bare',
    async enqueue(jobs) {
      const [first] = jobs
      if (!first) return
      const { queue, topic, priority, maxRetries, timeoutMs } = first
      const shared = [queue, topic, priority, maxRetries, timeoutMs]
      await client.query(
        jobs.length === 1
          ? { name: 'one', text: INSERT_ONE, values: [first.id, first.payload, ...shared] }
          : {
              name: 'many',
              text: INSERT_MANY,
              values: [jobs.map(({ id }) => id), jobs.map(({ payload }) => payload), ...shared],
            },
      )
    },
    claim,
    settle,
    async settleAndClaim(runs, limit) {
      await settle(runs)
      return claim(limit)
    },
    close: async () => {},
  }
}
