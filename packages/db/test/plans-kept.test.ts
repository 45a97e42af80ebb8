import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as postgres from '../src/postgres/sql.ts'
import { fn } from '../src/postgres/sql.ts'
import type { RunRef, Settlement, Store } from '../src/store.ts'
import { aJob, anError, Bench, claiming, complete, LEASE, MINUTE, WORKER } from './conformance/harness.ts'
import { Session } from './support/explain.ts'
import { createPostgresDatabase, type PostgresServer, startPostgres } from './support/index.ts'

const FEW = 20
const MANY = 20_000
const TABLES = ['jobs', 'history', 'job_meta', 'keys', 'deps', 'events', 'payloads', 'slots', 'slot_runs']

/** What the planner assumes about the tables when the first call makes the plans that a session keeps. */
const BELIEFS: Record<string, (session: Session) => Promise<unknown>> = {
  nothing: async () => {},
  'that they are empty': (session) => session.run('vacuum analyze'),
  'that they are large and empty, as after a burst': async (session) => {
    await fill(session)
    for (const table of TABLES) await session.run(`delete from oncue.${table}`)
    await session.run('vacuum (analyze, truncate off)')
  },
}

/**
 * Many jobs that use every feature, live and finished. None of them is due. There are fewer edges:
 * the parent comes second in their primary key, so that at worst all edges are walked.
 */
async function fill(session: Session): Promise<void> {
  const inserts = [
    `insert into oncue.jobs (id, queue, topic, payload, priority, max_retries, timeout_ms, created, updated, run_at,
       visible_at, status, concurrency_key, concurrency_limit, meta)
     select id, 'default', 'other', '{}', 0, 3, 600000, created, created, '2030-01-01',
       case when n % 2 = 0 then '2030-01-01'::timestamptz end, 'pending', 'many', 1, jsonb_build_object('n', n) from filler`,
    `insert into oncue.history (id, queue, topic, payload, priority, retries, max_retries, crashes, run, timeout_ms, created,
       finished_at, status, fingerprint, meta)
     select ended, 'default', 'other', '{}', 0, 0, 3, 0, 1, 600000, created, created,
       (case when n % 2 = 0 then 'failed' else 'completed' end)::oncue."Status", 'f', jsonb_build_object('n', n) from filler`,
    `insert into oncue.job_meta select 'n', n::text, created, id from filler`,
    `insert into oncue.job_meta select 'n', n::text, created, ended from filler`,
    `insert into oncue.keys select 'other', 'u:' || n, id, null from filler`,
    `insert into oncue.deps select id, ended, 'wait', true from filler where n <= 2000`,
    `insert into oncue.events select id, 1, 'log', null, '2025-01-01' from filler`,
    `insert into oncue.payloads select id, 'payload', '{}' from filler`,
  ]
  await session.run(
    `create temp table filler as
       select n, timestamptz '2025-01-01' + n * interval '1 second' as created, ('01800000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id,
       ('01700000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as ended from generate_series(1, ${MANY}) n`,
  )
  for (const insert of inserts) await session.run(insert)
  await session.run('drop table filler')
}

/**
 * A server of its own: a transaction of another database can keep a page from being pruned, and an update that
 * finds no room on its page writes all indexes. Without autovacuum: no ANALYZE may come to the rescue of a bad plan.
 */
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ settings: { autovacuum: 'off' } })
})
afterAll(() => server.stop())

describe.each(Object.keys(BELIEFS))('plans that were made when the planner assumed %s', (belief) => {
  const bench = new Bench({
    name: 'Postgres',
    createDatabase: () => createPostgresDatabase(server.url),
    transactions: [],
  })
  let session: Session

  beforeEach(async () => {
    session = await Session.open(bench.url)
  })
  afterEach(() => session.close())

  test('still look jobs up one by one when there are many', async () => {
    await BELIEFS[belief]?.(session)
    const store = await bench.openWithClock()
    // Each call has jobs of its own: a rollback leaves dead rows behind.
    const calls = new Map<string, postgres.Query>()
    for (const name of Object.keys(CALLS) as (keyof typeof CALLS)[])
      calls.set(name, CALLS[name](await aFewJobs(store, name), bench.clock.now()))
    const measure = async () => {
      const buffers = new Map<string, number>()
      for (const [name, call] of calls) buffers.set(name, (await session.explain(call)).buffers)
      return buffers
    }
    const before = await measure()
    await fill(session)
    const after = await measure()
    // The trees are a level or two higher. A walk along any index would be a hundred pages more, or hundreds.
    for (const [name, buffers] of after)
      expect.soft({ [name]: buffers }).toSatisfy(() => buffers <= 1.6 * (before.get(name) ?? 0) + 40)
  })
})

type Few = { failed: string[]; waiting: string[]; ids: string[]; runs: RunRef[]; topic: string }

/** Jobs with keys, meta and limits, and others that wait for them. */
async function aFewJobs(store: Store, name: string): Promise<Few> {
  const topic = name.replaceAll(/\W/g, '_')
  const some = (kind: string) =>
    Array.from({ length: FEW }, (_, n) =>
      aJob({
        topic: `${kind}_${topic}`,
        unique: { key: `${kind}-${name}-${n}` },
        concurrencyKey: `${name}-${n}`,
        concurrencyLimit: 2,
        meta: { [kind]: n },
      }),
    )
  const claim = async (kind: string) =>
    (await store.claim(claiming({ limit: FEW, topics: [`${kind}_${topic}`] }))).jobs
  const failed = await store.enqueue(some('failing'))
  await store.settle(
    (await claim('failing')).map(({ id, run }) => ({ id, run, kind: 'fail', error: anError })),
  )
  const waiting = await store.enqueue(some('waiting'))
  const ids = await store.enqueue(some('running'))
  await store.enqueue(ids.map((id) => aJob({ topic: 'child', after: [id] })))
  const runs = (await claim('running')).map(({ id, run }) => ({ id, run }))
  expect(runs).toHaveLength(FEW)
  return { failed, waiting, ids, runs, topic }
}

const settleAll = (runs: readonly RunRef[], now: Date, outcome: (run: RunRef) => Settlement) =>
  postgres.settle(runs.map(outcome), now)

const act = (action: 'requeue' | 'cancel' | 'delete', ids: readonly string[], now: Date) =>
  postgres.act({ action, ids, asOf: null, by: null }, now)

const CALLS = {
  complete: ({ runs }, now) => settleAll(runs, now, (run) => complete(run, '{"sent":true}')),
  'complete, sent again': ({ runs }, now) =>
    settleAll(runs, now, ({ id, run }) => complete({ id, run: run - 1 })),
  'complete with a large result': ({ runs }, now) =>
    settleAll(runs, now, (run) => complete(run, JSON.stringify('x'.repeat(5_000)))),
  fail: ({ runs }, now) => settleAll(runs, now, (run) => ({ ...run, kind: 'fail', error: anError })),
  retry: ({ runs }, now) =>
    settleAll(runs, now, (run) => ({ ...run, kind: 'retry', delayMs: 5, error: anError })),
  snooze: ({ runs }, now) => settleAll(runs, now, (run) => ({ ...run, kind: 'snooze', delayMs: 5 })),
  release: ({ runs }, now) => settleAll(runs, now, (run) => ({ ...run, kind: 'release' })),
  'release of interrupted runs': ({ runs }, now) =>
    settleAll(runs, now, (run) => ({ ...run, kind: 'release', interrupted: true })),
  heartbeat: ({ runs }, now) => postgres.heartbeat({ worker: WORKER, leaseMs: LEASE, runs }, now),
  progress: ({ runs }, now) =>
    postgres.recordProgress(
      runs.map((run) => ({ ...run, progress: '1', cursor: null, events: [['log', null, 0]] as const })),
      now,
    ),
  'the crash of a worker': ({ ids }, now) => ({
    text: `select ${fn('crash')}($1, $2)`,
    values: [now, ids],
  }),
  'claim under a limit': ({ topic }, now) =>
    postgres.claim(
      claiming({ topics: [`waiting_${topic}`], limit: FEW }),
      { queues: [], priorities: [], times: [], ids: [] },
      now,
    ),
  tend: (_, now) => ({ text: `select ${fn('tend')}($1)`, values: [now] }),
  link: ({ ids }, now) => ({ text: `select ${fn('link')}($1, $2)`, values: [now, ids] }),
  requeue: ({ failed }, now) => act('requeue', failed, now),
  'requeue of what runs': ({ ids }, now) => act('requeue', ids, now),
  cancel: ({ waiting, ids }, now) => act('cancel', [...waiting, ...ids], now),
  'cancel of what has ended': ({ failed }, now) => act('cancel', failed, now),
  delete: ({ waiting, failed }, now) => act('delete', [...waiting, ...failed], now),
  'delete of what runs': ({ ids }, now) => act('delete', ids, now),
  prune: ({ topic }, now) =>
    postgres.prune('default', `failing_${topic}`, 'failed', new Date(now.getTime() + MINUTE), FEW, now),
  'enqueue with keys': ({ waiting, topic }, now) =>
    postgres.enqueueKeyed(
      waiting.map((_, n) =>
        aJob({
          topic: `waiting_${topic}`,
          unique: { key: `waiting-enqueue with keys-${n}`, onConflict: 'replace' },
          meta: { [topic]: n },
        }),
      ),
      now,
    ),
} satisfies Record<string, (few: Few, now: Date) => postgres.Query>
