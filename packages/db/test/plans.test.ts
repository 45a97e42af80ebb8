import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { LowWater, type Marks } from '../src/postgres/low-water.ts'
import * as postgres from '../src/postgres/sql.ts'
import { fn } from '../src/postgres/sql.ts'
import { insertJobs } from '../src/sqlite/enqueue.ts'
import * as sqlite from '../src/sqlite/sql.ts'
import { plainDraft } from '../src/sqlite/work/parents.ts'
import { aJob, Bench, claiming, complete, LEASE, MINUTE, someJobs, WORKER } from './conformance/harness.ts'
import { type Explained, nodesOf, Session } from './support/explain.ts'
import { createPostgresDatabase, createSqliteDatabase } from './support/index.ts'

const MANY = 100_000
const DAY = 24 * 60 * MINUTE
const NO_MARKS: Marks = { queues: [], priorities: [], times: [], ids: [] }

describe('the plans of the hot path on Postgres', () => {
  const bench = new Bench({
    name: 'Postgres',
    createDatabase: () => createPostgresDatabase(inject('postgresUrl')),
    transactions: [],
  })
  let session: Session

  beforeEach(async () => {
    session = await Session.open(bench.url)
    // No ANALYZE may rescue a bad plan, and no vacuum may change the numbers.
    await session.run('alter table oncue.jobs set (autovacuum_enabled = off)')
    await session.run('alter table oncue.history set (autovacuum_enabled = off)')
  })
  afterEach(() => session.close())

  const now = () => bench.clock.now()
  const claim = (options: Parameters<typeof claiming>[0] = {}, marks = NO_MARKS) => {
    const query = (limits: typeof options) =>
      postgres.claim(claiming({ ...options, ...limits }), marks, now())
    return session.explain(query({}), query({ limit: 1 }))
  }

  /** Inserts rows as the store would have stored them, without sending each through the client. */
  async function fill({ count, queue = 'default', priority = 0, dueIn, every = 0, parked = false }: Fill) {
    await session.run(
      `insert into oncue.jobs (id, queue, topic, payload, priority, max_retries, timeout_ms, created, updated,
         run_at, visible_at, status, locked_until, locked_by, started_at, run)
       select ('01900000-0000-7000-8000-' || lpad(to_hex(nextval('fixture')), 12, '0'))::uuid,
         $2, 'mail_digest', '{"userId":"123"}', $3, 3, 600000, $1, $1, due.at, due.at,
         case when $7 then 'processing' else 'pending' end::oncue."Status",
         case when $7 then due.at end, case when $7 then $8::uuid end, case when $7 then $1::timestamptz end, $7::int
       from generate_series(0, $6 - 1) as n,
         lateral (select $1::timestamptz + ($4::float8 + n * $5::float8) * interval '1 ms' as at) as due`,
      [now(), queue, priority, dueIn, every, count, parked, WORKER],
    )
  }

  /** Runs jobs to their end in two calls, and vacuums as the settings of the table would. */
  async function finish(count: number) {
    await fill({ count, dueIn: -2 * MINUTE })
    await session.run(
      `select ${fn('settle')}($1, array_agg(j.id order by j.id), array_agg(j.run order by j.id), null, null, '{}', '{}', '{}')
       from ${fn('claim')}($1, $2, $3, '{default}', null, $4, $4, '{}', '{}', '{}', '{}') as c,
         string_to_table(c.jobs, E'\\x1e') as text,
         lateral (select split_part(text, E'\\x1f', 1)::uuid as id, split_part(text, E'\\x1f', 2)::integer as run) as j`,
      [now(), WORKER, LEASE, count],
    )
    await session.run('vacuum oncue.jobs')
  }

  const ready = (count: number, queue = 'default') => fill({ count, queue, dueIn: -MINUTE, every: 0.01 })

  describe.each([0, 100, MANY])('with %i jobs and no statistics', (count) => {
    test('a claim reads jobs by the ready index and never sorts them', async () => {
      await ready(count)
      expect(scansOfJobs(await claim())).toEqual(count ? ['jobs_ready', 'Tid Scan'] : ['jobs_ready'])
    })

    test('a claim still does when its plan was made while the table was empty', async () => {
      await claim()
      await ready(count)
      expect(scansOfJobs(await claim())).toEqual(count ? ['jobs_ready', 'Tid Scan'] : ['jobs_ready'])
    })

    test('settle, heartbeat and progress read jobs by their id', async () => {
      await ready(count)
      const store = await bench.openWithClock()
      const { jobs } = await store.claim(claiming())
      const runs = jobs.length ? jobs : [{ id: aJob().id, run: 1 }]
      const settlements = [
        ...runs.map((run) => complete(run)),
        ...runs.map(({ id, run }) => ({ id, run, kind: 'release' as const })),
      ]
      expect(scansOfJobs(await session.explain(postgres.settle(settlements, now())))).toEqual(['jobs_pkey'])
      const beat = postgres.heartbeat({ worker: WORKER, leaseMs: LEASE, runs }, now())
      expect(scansOfJobs(await session.explain(beat))).toEqual(['jobs_pkey', 'Tid Scan'])
      const updates = runs.map(({ id, run }) => ({
        id,
        run,
        progress: '1',
        cursor: null,
        events: [['log', null, 0]] as const,
      }))
      expect(scansOfJobs(await session.explain(postgres.recordProgress(updates, now())))).toEqual([
        'jobs_pkey',
      ])
    })
  })

  /*
   * The small table has the same shape as the large one: the same 1,000 ready jobs and one job of the
   * kind that is then added by the thousand, so that both claims take the same steps. Its ready index
   * has two levels, that of 10⁵ jobs three. Measured on Postgres 18, buffers for a claim of 10:
   *
   *            finished  future  ties  parked  together
   *   small       47       54     46     46       57
   *   large       47       60     48     46       63
   *
   * The difference is the third level, one page for each descent. On a table with nothing but ready
   * jobs it is 46: the step to a second priority costs 8 (three descents and the two jobs that they
   * find), which is more than 20% of so small a claim and nothing compared with one of 500, where it is
   * 2,029 with ready jobs alone and 2,046 with everything together.
   */
  describe('a claim of 10 touches at most 20% more buffers than on a small table', () => {
    const KINDS: Record<string, (many: boolean) => Promise<void>> = {
      finished: (many) => finish(many ? MANY : 1),
      'scheduled at a high priority': (many) =>
        fill({ count: many ? MANY : 1, priority: 10, dueIn: DAY, every: 1 }),
      'ready at one moment': (many) => fill({ count: many ? MANY : 1, dueIn: -MINUTE }),
      parked: (many) => fill({ count: many ? 5_000 : 1, dueIn: LEASE, parked: true }),
    }

    async function buffersOfClaims(kinds: typeof KINDS, many: boolean) {
      await session.run('truncate oncue.jobs, oncue.history')
      for (const add of Object.values(kinds)) await add(many)
      await ready(1_000)
      return { of10: (await claim({ limit: 10 })).buffers, of500: (await claim({ limit: 500 })).buffers }
    }

    test.each(Object.keys(KINDS))('with many jobs that are %s', async (name) => {
      const kinds = { [name]: KINDS[name] ?? expect.unreachable() }
      const small = await buffersOfClaims(kinds, false)
      const large = await buffersOfClaims(kinds, true)
      expect(large.of10).toBeLessThanOrEqual(1.2 * small.of10)
    })

    test('with all of them together; and a claim of 500 even compared with nothing but ready jobs', async () => {
      const bare = await buffersOfClaims({}, false)
      const small = await buffersOfClaims(KINDS, false)
      const large = await buffersOfClaims(KINDS, true)
      expect(large.of10).toBeLessThanOrEqual(1.2 * small.of10)
      expect(large.of500).toBeLessThanOrEqual(1.2 * bare.of500)
    })
  })

  test('a claim that finds nothing among 10⁵ scheduled jobs says when the next is due, and reads a few pages', async () => {
    await fill({ count: MANY, priority: 10, dueIn: DAY, every: 1 })
    // Four descents of three levels, the heap page of each job that they find, and the queue's
    // settings and limit (two each). Measured: 18.
    expect((await claim()).buffers).toBeLessThanOrEqual(18)
  })

  test('10,000 suspended jobs cost claims and polls nothing, those with a timer and those without', async () => {
    async function measure(count: number) {
      await session.run('truncate oncue.jobs, oncue.outcomes')
      await session.run(
        `with suspended as (
           insert into oncue.jobs (id, queue, topic, payload, priority, max_retries, timeout_ms, created, updated, run_at,
             visible_at, status, run, waits)
           select ('01900000-0000-7000-8000-' || lpad(to_hex(nextval('fixture')), 12, '0'))::uuid, 'default', 'mail_digest',
             '{}', 0, 3, 600000, $1, $1, $1::timestamptz + interval '1 day',
             case when n % 2 = 0 then $1::timestamptz + interval '1 day' end,
             case when n % 2 = 0 then 'pending' else 'blocked' end::oncue."Status", 1,
             '{"since":"2026-01-01T00:00:00Z","for":[{"kind":"signal","name":"bank","after":0}]}'
           from generate_series(1, $2) as n returning id)
         insert into oncue.outcomes (job_id, key, seq, kind, data, created) select id, 'step:a', 1, 'step', '{}', $1 from suspended`,
        [now(), count],
      )
      await ready(100)
      const polled = await session.explain(
        postgres.rescue({ gone: 0, most: MINUTE, settle: 0, grace: 0 }, WORKER, now()),
      )
      const tended = await session.explain({ text: `select ${fn('tend')}($1)`, values: [now()] })
      return { claim: (await claim({ limit: 10 })).buffers, poll: polled.buffers, tend: tended.buffers }
    }
    const small = await measure(2)
    const large = await measure(10_000)
    // A tree may be a level higher.
    for (const call of ['claim', 'poll', 'tend'] as const)
      expect.soft({ [call]: large[call] }).toSatisfy(() => large[call] <= 1.2 * small[call] + 4)
  })

  test('10⁵ waiting jobs of a full concurrency key cost the claims of other jobs nothing', async () => {
    await ready(1_000)
    const before = (await claim()).buffers
    await fill({ count: MANY, dueIn: -2 * MINUTE, every: 0.001 })
    await session.run(
      `update oncue.jobs set concurrency_key = 'full', concurrency_limit = 1 where visible_at < $1`,
      [new Date(now().getTime() - MINUTE)],
    )
    // Each claim throttles a bounded number of them, and each job is throttled once.
    const store = await bench.openWithClock()
    const inTheWay = () =>
      session.count(`concurrency_key = 'full' and status = 'pending' and visible_at is not null`)
    for (let claims = 0; (await inTheWay()) > 0; claims++) {
      const { jobs } = await store.claim(claiming({ limit: 1 }))
      const others = jobs.filter((job) => job.concurrencyKey === null)
      await store.settle(others.map(({ id, run }) => ({ id, run, kind: 'release' })))
      expect(claims).toBeLessThan(20)
    }
    await session.run('vacuum oncue.jobs')
    expect((await claim()).buffers).toBeLessThanOrEqual(before * 1.2)
  })

  describe('the cost of jobs with a concurrency key does not depend on how many there are', () => {
    /** The jobs beside the five that run. Trees may be a level higher; a walk would be hundreds of pages more. */
    const OTHERS: Record<string, { limit: number; visible: string; waiting: boolean; queue?: string }> = {
      'ready, and never at their limit': {
        limit: 1_000,
        visible: `$1::timestamptz - interval '1 hour'`,
        waiting: false,
      },
      scheduled: { limit: 5, visible: `$1::timestamptz + interval '1 day'`, waiting: false },
      throttled: { limit: 5, visible: 'null::timestamptz', waiting: true },
      'throttled and ready in a queue without workers': {
        limit: 5,
        visible: `(case when n % 2 = 0 then $1::timestamptz - interval '1 hour' end)`,
        waiting: true,
        queue: 'a_dead',
      },
    }

    async function measure(others: (typeof OTHERS)[string], count: number) {
      const { limit, visible, waiting, queue = 'default' } = others
      await session.run('truncate oncue.jobs, oncue.slots, oncue.slot_runs')
      const store = await bench.openWithClock()
      const keyed = { concurrencyKey: 'k', concurrencyLimit: limit, topic: 'running' }
      await store.enqueue(someJobs(5, keyed))
      const { jobs: runs } = await store.claim(claiming({ topics: ['running'] }))
      expect(runs).toHaveLength(5)
      await session.run(
        `insert into oncue.jobs (id, queue, topic, payload, priority, max_retries, timeout_ms, created, updated,
           run_at, visible_at, status, concurrency_key, concurrency_limit)
         select ('01900000-0000-7000-8000-' || lpad(to_hex(nextval('fixture')), 12, '0'))::uuid,
           $4, 'other', '{}', 0, 3, 600000, $1, $1, coalesce(due.at, $1), due.at, 'pending', 'k', $3::int
         from generate_series(1, $2) as n, lateral (select ${visible} + n * interval '1 us' as at) as due`,
        [now(), count, limit, queue],
      )
      if (waiting) await session.run(`update oncue.slots set waiting = true`)
      await store.enqueue(someJobs(1, { ...keyed, priority: 1 }))
      const settled = await session.explain(
        postgres.settle(
          runs.map((run) => complete(run)),
          now(),
        ),
      )
      const one = await claim({ topics: ['running'], limit: 1 })
      const tended = await session.explain({ text: `select ${fn('tend')}($1)`, values: [now()] })
      return { settle: settled.buffers, claim: one.buffers, poll: tended.buffers }
    }

    test.each(Object.keys(OTHERS))('when they are %s', async (name) => {
      const others = OTHERS[name] ?? expect.unreachable()
      const small = await measure(others, 20)
      const large = await measure(others, MANY)
      for (const call of ['settle', 'claim', 'poll'] as const)
        expect.soft({ [call]: large[call] }).toSatisfy(() => large[call] <= 1.6 * small[call] + 40)
    })
  })

  test('a poll looks at a bounded number of busy concurrency keys, however many there are', async () => {
    const measure = async (keys: number) => {
      await session.run('truncate oncue.jobs, oncue.slots, oncue.slot_runs')
      const rows = `generate_series(1, $2) as n, lateral (values
        (md5('running' || n)::uuid, 'processing'), (md5('held' || n)::uuid, 'pending')) as j(id, status)`
      await session.run(
        `insert into oncue.jobs (id, queue, topic, payload, priority, max_retries, timeout_ms, created, updated, run_at,
           visible_at, status, locked_until, locked_by, run, concurrency_key, concurrency_limit)
         select j.id, 'default', 'other', '{}', 0, 3, 600000, $1, $1, $1,
           case j.status when 'processing' then $1::timestamptz end, j.status::oncue."Status",
           case j.status when 'processing' then $1::timestamptz + interval '1 hour' end,
           case j.status when 'processing' then $3::uuid end, 1, 'user:' || n, 1 from ${rows}`,
        [now(), keys, WORKER],
      )
      await session.run(
        `with busy as (
           insert into oncue.slot_runs (key, job_id, run, taken, until)
           select 'k:user:' || n, md5('running' || n)::uuid, 1, $1, $1::timestamptz + interval '1 hour' from generate_series(1, $2) n
         )
         insert into oncue.slots (key, waiting) select 'k:user:' || n, true from generate_series(1, $2) n`,
        [now(), keys],
      )
      return (await session.explain({ text: `select ${fn('tend')}($1)`, values: [now()] })).buffers
    }
    const small = await measure(400)
    expect(await measure(20_000)).toBeLessThanOrEqual(1.6 * small + 40)
  })

  test('while an open transaction stops vacuum, jobs with concurrency keys do not cost more', async () => {
    const store = await bench.openWithClock()
    const request = claiming({ limit: 500 })
    const lowWater = new LowWater()
    const keyed = (n: number) => aJob({ concurrencyKey: `user:${n % 20}`, concurrencyLimit: 50 })
    const batch = (count: number) => Array.from({ length: count }, (_, n) => keyed(n))
    // A sweep that took 100 ms: the next is due after a second.
    lowWater.marks(request, 0)
    const finish = async (count: number) => {
      await store.enqueue(batch(count))
      const { jobs, now: at } = await store.claim(request)
      const positions = jobs.map((job) => ({ ...job, visibleAt: job.runAt }))
      lowWater.learn(request, positions, at, 100)
      await store.settle(jobs.map((job) => complete(job)))
      bench.clock.advance(1_000)
    }
    /** The cost of a claim of forty, and of their settle. */
    const measure = async () => {
      await finish(40)
      await store.enqueue(batch(40))
      const claimed = (await claim({ limit: 500 }, lowWater.marks(request, 200))).buffers
      const { jobs } = await store.claim(request)
      const settlements = jobs.map((job) => complete(job))
      const settled = (await session.explain(postgres.settle(settlements, now()))).buffers
      await store.settle(settlements)
      bench.clock.advance(1_000)
      return { claimed, settled }
    }
    const before = await measure()
    const holder = await Session.open(bench.url)
    await holder.run('begin isolation level repeatable read')
    await holder.run('select from oncue.jobs limit 1')
    try {
      for (let round = 0; round < 10; round++) await finish(500)
      const after = await measure()
      expect(after.claimed).toBeLessThanOrEqual(1.6 * before.claimed + 40)
      expect(after.settled).toBeLessThanOrEqual(1.6 * before.settled + 40)
    } finally {
      await holder.close()
    }
  })

  test('twenty queues cost a few descents each, however much is scheduled in them', async () => {
    const queues = Array.from({ length: 20 }, (_, n) => `queue-${n}`)
    const [last = '', ...others] = queues.toReversed()
    const measure = async (scheduled: number) => {
      await session.run('truncate oncue.jobs')
      for (const queue of others) await fill({ queue, count: scheduled, dueIn: DAY, every: 1 })
      await ready(10, last)
      return { ...(await claim({ queues })), levels: await session.levelsOfReadyIndex() }
    }
    const small = await measure(1)
    const large = await measure(5_000)
    // Descents are nearly all of the cost here, so each level of the index shows: measured 159 buffers
    // in 78 searches on a tree of one level, 314 on one of three. Nothing else may grow.
    const taller = large.searches * (large.levels - small.levels)
    expect(large.buffers).toBeLessThanOrEqual(1.2 * small.buffers + taller)
  })

  test('while an open transaction stops vacuum, the low-water mark saves a claim from reading finished jobs', async () => {
    const store = await bench.openWithClock()
    const request = claiming({ limit: 500 })
    // As the store keeps it; a sweep took 10 ms, so that the next is due after 200 ms.
    const lowWater = new LowWater()
    let marks = lowWater.marks(request, 0)
    // Scheduled in random order of time, so that neighbours in the index are on different pages of the table.
    const inMs = (n: number) => new Date(now().getTime() + ((n * 7_919) % 5_000))
    await store.enqueue(Array.from({ length: 5_000 }, (_, n) => aJob({ runAt: inMs(n) })))
    bench.clock.advance(MINUTE)
    await store.enqueue(someJobs(10))
    bench.clock.advance(MINUTE)

    const holder = await Session.open(bench.url)
    await holder.run('begin isolation level repeatable read')
    await holder.run('select from oncue.jobs limit 1')
    try {
      for (let left = 5_000; left > 0; left -= request.limit) {
        const { jobs, now: at } = await store.claim(request)
        const positions = jobs.map((job) => ({ ...job, visibleAt: job.runAt }))
        lowWater.learn(request, positions, at, 10)
        marks = lowWater.marks(request, 20)
        await store.settle(jobs.map((job) => complete(job)))
      }
      // Measured: 45 against 10,201, which is every dead entry twice, each on a page of its own: once in
      // the search for the next priority and once in the one for ready jobs.
      expect((await claim({}, marks)).buffers).toBeLessThanOrEqual(60)
      expect((await claim({}, NO_MARKS)).buffers).toBeGreaterThan(2_000)
    } finally {
      await holder.close()
    }
  })
})

describe('the plans of the hot path on SQLite', () => {
  /** RUNS_OF scans all jobs for those of a dead worker, once per death; ANY_DEPS stops at the first. */
  const SCANS: Record<string, string> = { RUNS_OF: 'SCAN oncue_jobs', ANY_DEPS: 'SCAN oncue_deps' }
  const LARGE = /^SCAN (oncue_(jobs|job_meta|history|payloads|keys|deps|events)|[jhpkd])\b/
  const drafts = [aJob(), aJob({ payload: 'x'.repeat(5_000) })].map((job) => plainDraft(job, 0))
  const statements = [
    ...Object.entries(sqlite).flatMap(([name, text]): [name: string, text: string][] =>
      typeof text === 'string' ? [[name, text]] : [],
    ),
    ...insertJobs(drafts, 0).map(({ text }): [string, string] => ['enqueue', text]),
  ]
  // These group the few dependants of jobs that end.
  const SORTS = ['RELEASE', 'ENDED_BY_PARENTS']
  const bench = new Bench({ name: 'SQLite', createDatabase: createSqliteDatabase, transactions: [] })
  let db: Database.Database

  beforeEach(() => {
    db = new Database(bench.url.slice('file:'.length))
  })
  afterEach(() => {
    db.close()
  })

  const planOf = (text: string) =>
    db
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
      .all(...nullsFor(text))
      .map(({ detail }) => detail)

  const plansOf = async (text: string) => {
    const before = planOf(text)
    const store = await bench.openWithClock()
    await store.enqueue([...someJobs(500), ...someJobs(500, { priority: 10, delay: DAY })])
    db.exec('ANALYZE')
    return [before, planOf(text)]
  }

  test.each(statements.filter(([name]) => !SORTS.includes(name)))(
    '%s sorts nothing, on a fresh file and with statistics',
    async (_, text) => {
      for (const plan of await plansOf(text))
        expect(plan.filter((step) => /TEMP B-TREE/.test(step))).toEqual([])
    },
  )

  test.each(statements)(
    '%s searches by an index, on a fresh file and with statistics',
    async (name, text) => {
      for (const plan of await plansOf(text)) {
        const scans = plan.filter((step) => LARGE.test(step)).map((step) => step.replace(/ USING .*/, ''))
        expect(scans).toEqual(SCANS[name] ? [SCANS[name]] : [])
      }
    },
  )

  test.each([
    ['the search for the next priority', sqlite.NEXT_PRIORITY],
    ['the search for ready jobs', sqlite.READY],
    ['the search for the next job that is due', sqlite.NEXT_DUE],
  ])('%s walks the ready index', (_, text) => {
    expect(planOf(text)[0]).toMatch(/^SEARCH \w+ USING (COVERING )?INDEX oncue_jobs_ready /)
  })

  // Each index has only the jobs of a key in its own state, so no search walks over the others.
  test.each([
    [
      'queues that have held jobs of a key',
      sqlite.NEXT_HELD_QUEUE,
      'oncue_jobs_throttled (concurrency_key=? AND queue>?)',
    ],
    [
      'the next jobs of a key that are held',
      sqlite.THROTTLED,
      'oncue_jobs_throttled (concurrency_key=? AND queue=?)',
    ],
    [
      'whether any job of a key is ready in a queue',
      sqlite.HAS_READY,
      'oncue_jobs_keyed (concurrency_key=? AND queue=? AND visible_at<?)',
    ],
    [
      'whether any job of a key is throttled',
      sqlite.NOBODY_WAITS,
      'oncue_jobs_throttled (concurrency_key=?)',
    ],
    ['the limit of a key with throttled jobs', sqlite.LIMIT_OF, 'oncue_jobs_throttled (concurrency_key=?)'],
    [
      'jobs of a full key that stand in the way',
      sqlite.HOLD_BACK_OTHERS,
      'oncue_jobs_keyed (concurrency_key=? AND queue=? AND visible_at>? AND visible_at<?)',
    ],
    ['runs of a slot whose leases may have expired', sqlite.OVERDUE, 'oncue_slot_runs_key (key=?)'],
    ['slots with throttled jobs', sqlite.WAITING_SLOTS, 'oncue_slots_waiting (key>?)'],
  ])('%s are found by an index of their own', (_, text, index) => {
    expect(planOf(text).filter((step) => step.includes(index))).toHaveLength(1)
  })
})

type Fill = {
  readonly count: number
  readonly queue?: string
  readonly priority?: number
  /** Milliseconds from now; negative for the past. */
  readonly dueIn: number
  readonly every?: number
  readonly parked?: boolean
}

/** The access paths to jobs, each once. A sort of jobs would be in the list too. */
function scansOfJobs({ plans }: Explained): string[] {
  const ways = plans.map(nodesOf).flatMap((nodes) => {
    const scans = nodes.filter(
      (node) => node['Relation Name'] === 'jobs' && node['Node Type'] !== 'ModifyTable',
    )
    const sorts = scans.length ? nodes.filter((node) => node['Node Type'].includes('Sort')) : []
    return [...scans, ...sorts].map((node) => node['Index Name'] ?? node['Node Type'])
  })
  return [...new Set(ways)]
}

/** better-sqlite3 requires every parameter, and a plan does not depend on their values. */
function nullsFor(text: string): unknown[] {
  const names = [...text.matchAll(/@(\w+)/g)].map(([, name]) => [name, null])
  return names.length ? [Object.fromEntries(names)] : [...text.matchAll(/\?/g)].map(() => null)
}
