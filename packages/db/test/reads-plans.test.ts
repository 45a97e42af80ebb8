import Database from 'better-sqlite3'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import type { ListPosition } from '../src/portable/reads/cursor.ts'
import { aheadStatement } from '../src/portable/reads/explain.ts'
import { explainQueue } from '../src/portable/reads/explain-queue.ts'
import { childrenStatement } from '../src/portable/reads/family.ts'
import { glanceStatement } from '../src/portable/reads/jobs.ts'
import { countStatement, idsStatement, list, matching, pageStatement } from '../src/portable/reads/list.ts'
import { entriesStatement, type MetaEntry } from '../src/portable/reads/meta.ts'
import { levelsStatement } from '../src/portable/reads/ready.ts'
import { windowsOf } from '../src/portable/reads/search.ts'
import { sourcesOf } from '../src/portable/reads/sources.ts'
import {
  childrenOfStatement,
  edgesStatement,
  placesStatement,
  spawnsStatement,
} from '../src/portable/reads/tree.ts'
import { runsStatement } from '../src/portable/reads/workers.ts'
import { type Fragment, type Sql, toSqlite } from '../src/portable/sql.ts'
import { PostgresClient } from '../src/postgres/client.ts'
import { fn } from '../src/postgres/sql.ts'
import { postgresSql } from '../src/postgres/sql-access.ts'
import { SqliteWriter } from '../src/sqlite/client.ts'
import { sqliteSql } from '../src/sqlite/sql-access.ts'
import type { JobFilter, PageRequest } from '../src/store.ts'
import {
  aJob,
  anError,
  Bench,
  claiming,
  complete,
  MINUTE,
  newWorkerId,
  someJobs,
} from './conformance/harness.ts'
import { createPostgresDatabase, createSqliteDatabase } from './support/index.ts'

const PLACE = { created: new Date('2026-01-01'), id: '01900000-0000-7000-8000-00000000000a' }

const IN_LINE = {
  ...{ id: PLACE.id, queue: 'default', priority: 0 },
  ...{ at: PLACE.created, now: new Date('2026-01-02') },
}

const LEVEL = { queue: 'default', priority: 0 }
const WORKER_READS = [
  levelsStatement(['default', 'mail']),
  runsStatement(PLACE.id, [LEVEL, { ...LEVEL, priority: 3 }], IN_LINE.now, 100),
]

const FILTERS: [name: string, filter: JobFilter][] = [
  ['everything', {}],
  ['a status of live jobs', { status: 'processing' }],
  ['retrying', { status: 'retrying' }],
  ['scheduled, and failed', { status: ['scheduled', 'failed'] }],
  ['completed', { status: 'completed' }],
  ['failed', { status: 'failed' }],
  ['failed and cancelled', { status: ['failed', 'cancelled'] }],
  ['waiting, running and completed', { status: ['pending', 'processing', 'completed'] }],
  [
    'several statuses of a queue and topic',
    { status: ['pending', 'failed'], queue: 'default', topic: 'topic-1' },
  ],
  ['a queue', { queue: 'default' }],
  ['a topic', { topic: 'topic-1' }],
  ['queue, topic and status', { queue: 'default', topic: 'topic-1', status: 'cancelled' }],
  ['a fingerprint', { fingerprint: 'f00d' }],
  ['a fingerprint of waiting jobs', { fingerprint: 'f00d', status: 'pending' }],
  ['a fingerprint of a topic', { fingerprint: 'f00d', topic: 'topic-1' }],
  ['a time', { createdFrom: new Date('2025-12-01'), createdTo: new Date('2026-02-01') }],
  ['meta', { meta: { agent: 1 } }],
  ['meta, failed', { meta: { agent: 1 }, status: 'failed' }],
  ['meta of a queue and topic', { meta: { agent: 1, tenant: 'x' }, queue: 'default', topic: 'topic-1' }],
  ['meta, failed and cancelled', { meta: { agent: 1 }, status: ['failed', 'cancelled'] }],
  ['meta of live jobs', { meta: { agent: 1 }, status: 'pending' }],
  [
    'meta with a fingerprint and a time',
    { meta: { agent: 1 }, fingerprint: 'f00d', createdFrom: new Date('2025-12-01') },
  ],
  ['a payload', { createdFrom: new Date('2025-12-01'), payloadText: 'x' }],
  ['a short prefix', { idPrefix: '019' }],
  ['a long prefix', { idPrefix: '01900000-00' }],
  ['the end of an id', { idSuffix: '0000000a' }],
  ['the end of an id of a queue, failed', { idSuffix: '000a', queue: 'default', status: 'failed' }],
  ['a text of errors', { errorText: 'timeout' }],
  ['a text of errors of a topic, waiting', { errorText: 'timeout', topic: 'topic-1', status: 'pending' }],
  ['a text of errors with meta', { errorText: 'timeout', meta: { agent: 1 } }],
]

/** Every statement that a filter produces; by a meta entry too, if the filter has any. */
function statementsOf(dialect: Sql['dialect'], filter: JobFilter): Fragment[] {
  const statements = selectionsOf(dialect, { filter })
  if (!filter.meta) return statements
  const by = { key: 'agent', value: '1' }
  const entries = entriesStatement(dialect, filter, { limit: 2_001, nth: 200 })
  return [...statements, ...selectionsOf(dialect, { filter, by }), entries]
}

/** A page, a page further on, both of the oldest too, the count, a batch for an action. */
function selectionsOf(
  dialect: Sql['dialect'],
  what: { readonly filter: JobFilter; readonly by?: MetaEntry },
): Fragment[] {
  const statements = [
    ...(['desc', 'asc'] as const).flatMap((direction) => [
      pageStatement(dialect, { ...what, direction, limit: 51 }, 0),
      pageStatement(dialect, { ...what, direction, limit: 1_051, after: PLACE }, 1_000),
    ]),
    countStatement(dialect, what),
  ]
  const batch = { limit: 500, asOf: PLACE.created, after: PLACE }
  const sources = sourcesOf(dialect, { ...what, ...batch, direction: 'asc' })
  if (sources) statements.push(idsStatement(sources, 500))
  return statements.filter((statement) => statement !== null)
}

describe.each([0, 100, 20_000])('the plans of reads on Postgres with %i jobs and no statistics', (count) => {
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
    await client.query({ text: 'alter table oncue.jobs set (autovacuum_enabled = off)', values: [] })
    await client.query({ text: HISTORY, values: [count] })
    await client.query({ text: JOBS, values: [count / 10] })
    await client.query({ text: JOB_META, values: [] })
  })
  afterEach(() => client.close())

  test.each(FILTERS)('a list of %s walks indexes: it neither scans nor sorts a table', async (_, filter) => {
    for (const { text, values } of statementsOf('postgres', filter)) {
      const [row] = await sql.walk<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
        text: `explain (format json) ${text}`,
        values,
      })
      const plan = row?.['QUERY PLAN'][0].Plan ?? expect.unreachable()
      expect(waysToRead(plan).filter((way) => !/^Index (Only )?Scan/.test(way))).toEqual([])
      // A sort by id prefix may cover only what begins with it.
      if (filter.idPrefix === undefined || filter.idPrefix.length < 8) expect(sortedScans(plan)).toEqual([])
    }
  })

  const planOf = async ({ text, values }: Fragment) => {
    const [row] = await sql.walk<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
      text: `explain (format json) ${text}`,
      values,
    })
    return nodesOf(row?.['QUERY PLAN'][0].Plan ?? expect.unreachable())
  }

  test('a list of completed jobs starts at its topic and queue', async () => {
    const page = pageStatement('postgres', { filter: { queue: 'default' }, direction: 'desc', limit: 51 }, 0)
    const walks = (await planOf(page ?? expect.unreachable())).filter(
      (node) => node['Index Name'] === 'history_completed',
    )
    expect(walks.map((node) => node['Index Cond'])).toEqual([
      expect.stringMatching(/topic = .*hashtext\(queue\) >> 24.* = /),
    ])
  })

  describe('beside queues that share their byte in the index with a large one', () => {
    /** Counted as if they had jobs; the walk of each would pass over all that are there. */
    let crowded: string[]

    beforeEach(async () => {
      const rows = await client.query({
        text: `insert into oncue.totals (queue, topic, completed, failed, cancelled, runs, run_ms)
          select q, t, case q when 'default' then 1000000 else 1 end, 0, 0, 0, 0
          from (select 'default' union all (select 'tenant-' || n from generate_series(1, 5000) n
            where hashtext('tenant-' || n) >> 24 = hashtext('default') >> 24 limit 9)) queues(q),
            (select 'topic-' || n from generate_series(0, 6) n) topics(t) returning queue`,
        values: [],
      })
      crowded = [...new Set(rows.map(([queue]) => String(queue)))].filter((queue) => queue !== 'default')
    })

    const passedOver = async ({ text, values }: Fragment) => {
      const statement = { text: `explain (analyze, format json) ${text}`, values }
      const [row] = await sql.walk<{ 'QUERY PLAN': [{ Plan: Plan }] }>(statement)
      const walks = nodesOf(row?.['QUERY PLAN'][0].Plan ?? expect.unreachable()).filter(
        (node) => node['Index Name'] === 'history_completed',
      )
      expect(walks).toHaveLength(1)
      return walks[0]?.['Rows Removed by Filter'] ?? 0
    }

    test('a list of all queues passes over no job', async () => {
      expect(crowded).toHaveLength(9)
      for (const statement of selectionsOf('postgres', { filter: {} }).slice(0, -1))
        expect(await passedOver(statement)).toBe(0)
    })

    test('a list of one of them is searched window by window', async () => {
      const windowsFor = (queue: string) => windowsOf(sql, { queue }, 'desc', null, 100)
      expect(await windowsFor(crowded[0] ?? '')).not.toBeNull()
      expect(await windowsFor('default')).toBeNull()
      expect(await windowsFor('unknown')).toBeNull()
      const { items, total, nextCursor } = await list(sql, { queue: crowded[0] }, {}, { searchMs: MINUTE })
      expect({ items, total, nextCursor }).toEqual({ items: [], total: 7, nextCursor: null })
    })
  })

  test('a list by fingerprint finds live jobs in the index of those whose last run failed with it', async () => {
    const filter: JobFilter = { fingerprint: 'f00d', status: 'pending' }
    for (const statement of selectionsOf('postgres', { filter })) {
      const walks = (await planOf(statement)).filter(
        (node) => node['Relation Name'] === 'jobs' && node['Index Name'] !== 'jobs_pkey',
      )
      expect(walks.map((node) => [node['Index Name'], node['Index Cond']])).toEqual([
        ['jobs_failing_listed', expect.stringContaining('fingerprint = ')],
      ])
    }
  })

  test('failed jobs with a meta value are looked up among the failed ones', async () => {
    const by = { key: 'agent', value: '1' }
    const filter: JobFilter = { meta: { agent: 1 }, status: 'failed' }
    const statement = countStatement('postgres', { filter, by }) ?? expect.unreachable()
    const lookups = (await planOf(statement)).filter((node) => node['Relation Name'] === 'history')
    // With next to no rows, each of the indexes is as good.
    if (count > 100) expect(lookups.map((node) => node['Index Name'])).toEqual(['history_unsuccessful_id'])
  })

  test('a glance looks each job up by its id', async () => {
    const { text, values = [] } = glanceStatement('postgres', [PLACE.id])
    const [row] = await sql.all<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
      text: `explain (format json) ${text}`,
      values,
    })
    const plan = row?.['QUERY PLAN'][0].Plan ?? expect.unreachable()
    expect(waysToRead(plan)).toEqual(['Index Scan jobs_pkey', 'Index Scan history_pkey'])
  })

  test('a position in the queue is counted along the index of ready jobs', async () => {
    const nodes = await planOf(aheadStatement(IN_LINE))
    const reads = nodes.filter((node) => node['Relation Name'] === 'jobs')
    expect(new Set(reads.map((node) => node['Index Name']))).toEqual(new Set(['jobs_ready']))
    for (const { 'Index Cond': condition } of reads) expect(condition).toMatch(/queue = .*priority/)
  })

  test('what runs on a worker is searched along the index of ready jobs', async () => {
    for (const statement of WORKER_READS) {
      const reads = (await planOf(statement)).filter((node) => node['Relation Name'] === 'jobs')
      expect(new Set(reads.map((node) => node['Index Name']))).toEqual(new Set(['jobs_ready']))
      for (const { 'Index Cond': condition } of reads) expect(condition).toMatch(/queue = /)
    }
  })

  test.each(['jobs', 'history'] as const)('children are looked for along the ids of %s', async (table) => {
    const nodes = await planOf(childrenStatement(table, PLACE.id, { from: PLACE.id, to: PLACE.id }))
    const reads = nodes.filter((node) => node['Relation Name'] === table)
    expect(reads.map((node) => node['Index Name'])).toEqual([`${table}_pkey`])
    expect(reads[0]?.['Index Cond']).toMatch(/id >= .*id </)
  })

  test.each(['jobs', 'history'] as const)('so are those of a tree in %s', async (table) => {
    const range = { from: PLACE.id, to: PLACE.id }
    const nodes = await planOf(childrenOfStatement('postgres', table, [PLACE.id], range))
    const reads = nodes.filter((node) => node['Relation Name'] === table)
    expect(reads.map((node) => node['Index Name'])).toEqual([`${table}_pkey`])
    expect(reads[0]?.['Index Cond']).toMatch(/id >= .*id </)
  })

  test('a tree is read along indexes', async () => {
    const indexes = async (statement: Fragment) =>
      (await planOf(statement)).flatMap((node) => (node['Relation Name'] ? [node['Index Name']] : []))
    const ids = [PLACE.id]
    expect((await indexes(edgesStatement('postgres', ids))).sort()).toEqual(['deps_parent', 'deps_pkey'])
    expect(await indexes(spawnsStatement('postgres', ids))).toEqual([expect.stringMatching(/^outcomes_/)])
    expect((await indexes(placesStatement('postgres', ids))).sort()).toEqual([
      'flow_places_job',
      'flow_places_pkey',
    ])
  })
})

describe('the plan of a prune on Postgres', () => {
  const bench = new Bench({
    name: 'Postgres',
    createDatabase: () => createPostgresDatabase(inject('postgresUrl')),
    transactions: [],
  })

  test.each([
    ['completed', 'history_completed'],
    ['failed', 'history_unsuccessful'],
    ['cancelled', 'history_unsuccessful'],
  ])(
    'of %s jobs begins at the oldest of %s, also when it was made for an empty table',
    async (status, index) => {
      const client = new pg.Client(bench.url)
      await client.connect()
      const plans: Plan[] = []
      client.on('notice', ({ message = '' }) => {
        if (message.startsWith('duration:')) plans.push(JSON.parse(message.slice(message.indexOf('{'))).Plan)
      })
      const prune = `select ${fn('prune')}(null, 'default', 'topic-1', '${status}', '2027-01-01', 10)`
      await client.query(prune)
      await client.query(HISTORY, [20_000])
      await client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
      set auto_explain.log_format = json; set auto_explain.log_analyze = on; set client_min_messages = log`)
      await client.query(prune)
      await client.end()
      const scans = plans
        .flatMap(nodesOf)
        .filter((node) => node['Relation Name'] === 'history' && node['Index Name'])
      expect(new Set(scans.map((node) => node['Index Name']))).toEqual(new Set([index, 'history_pkey']))
      expect(Math.max(...scans.map((node) => node['Actual Rows'] ?? 0))).toBeLessThanOrEqual(10)
    },
  )
})

describe('the plans of reads on SQLite', () => {
  const bench = new Bench({ name: 'SQLite', createDatabase: createSqliteDatabase, transactions: [] })
  let db: Database.Database
  beforeEach(() => {
    db = new Database(bench.url.slice('file:'.length))
  })
  afterEach(() => {
    db.close()
  })

  const planOf = (statement: Fragment) => {
    const { text, values } = toSqlite(statement)
    return db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(values) as {
      id: number
      parent: number
      detail: string
    }[]
  }

  test.each(FILTERS)('a list of %s walks indexes: it neither scans nor sorts a table', (_, filter) => {
    for (const statement of statementsOf('sqlite', filter)) {
      const plan = planOf(statement)
      const reads = plan.filter(({ detail }) => /^(SCAN|SEARCH) (x|n|p|m)\b/.test(detail))
      // The first step of each skip scan reads one entry at the head of its index.
      expect(reads.filter(({ detail }) => !/^SEARCH|^SCAN x USING (COVERING )?INDEX/.test(detail))).toEqual(
        [],
      )
      const walks = plan.filter(({ detail }) => detail.includes('LIST SUBQUERY')).map(({ id }) => id)
      expect(
        plan.filter(({ parent, detail }) => walks.includes(parent) && detail.includes('TEMP B-TREE')),
      ).toEqual([])
    }
  })

  test('a glance looks each job up by its id', () => {
    const { text, values = [] } = glanceStatement('sqlite', [PLACE.id])
    const reads = planOf({ text, values }).filter(({ detail }) => / n\b/.test(detail))
    expect(reads.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/^SEARCH n USING (PRIMARY KEY|INDEX sqlite_autoindex_oncue_jobs_1) \(id=\?\)/),
      expect.stringMatching(/^SEARCH n USING (PRIMARY KEY|INDEX sqlite_autoindex_oncue_history_1) \(id=\?\)/),
    ])
  })

  test('a position in the queue is counted along the index of ready jobs', () => {
    const reads = planOf(aheadStatement(IN_LINE)).filter(({ detail }) => / j\b/.test(detail))
    const search = /^SEARCH j USING (COVERING )?INDEX oncue_jobs_ready \(queue=\? AND priority/
    expect(reads.map(({ detail }) => detail)).toEqual(Array(4).fill(expect.stringMatching(search)))
  })

  test('what runs on a worker is searched along the index of ready jobs', () => {
    for (const statement of WORKER_READS) {
      const plan = planOf(statement)
      const reads = plan.filter(({ detail }) => / j\b/.test(detail) && !/SUBQUERY/.test(detail))
      expect(reads.length).toBeGreaterThan(0)
      for (const { detail } of reads)
        expect(detail).toMatch(
          /^(SEARCH j USING (COVERING )?INDEX oncue_jobs_ready \(queue=\?|CO-ROUTINE|SCAN j$)/,
        )
      expect(plan.filter(({ detail }) => detail.includes('TEMP B-TREE'))).toEqual([])
    }
  })

  test('why a queue waits looks at no more than 1,000 jobs for their topics, and decodes each worker once', async () => {
    const store = await bench.openWithClock()
    const info = { host: 'a', pid: 1, queues: ['default'], concurrency: 1, version: '1' }
    for (const id of [newWorkerId(), newWorkerId()]) {
      await store.attend({ id, ...info })
      await store.announce([{ topic: 'known', input: {}, output: {}, policy: {} }], {
        worker: id,
        service: 's',
      })
    }
    const jobs = Array.from({ length: 1_400 }, (_, n) => aJob({ topic: `t${n}`, priority: n % 2 }))
    await store.enqueue(jobs.slice(0, 700))
    await store.enqueue(jobs.slice(700))
    const own = sqliteSql(db, db, new SqliteWriter(db), () => bench.clock.now().getTime())
    let decoded = 0
    const answers: number[] = []
    const sql: Sql = {
      ...own,
      json: (value) => {
        decoded += 1
        return own.json(value)
      },
      walk: async <Row extends object>(statement: Fragment) => {
        const rows = await own.walk<Row>(statement)
        answers.push(rows.length)
        return rows
      },
    }
    const { reasons } = await explainQueue(sql, 'default')
    expect(Math.max(...answers)).toBe(1_000)
    // Its queues for the list of workers, and its queues and topics for the reasons.
    expect(decoded).toBe(2 * 3)
    expect(reasons.at(-1)?.text).toMatch(/^995 or more other topics/)
  })

  test('jobs ahead are counted until there are enough, at however many priorities they wait', async () => {
    const store = await bench.open()
    for (const priority of [9, 8, 7, 6])
      await store.enqueue(someJobs(10_001, { queue: IN_LINE.queue, priority }))
    const { text, values } = toSqlite(
      aheadStatement({ ...IN_LINE, priority: 0, at: new Date(), now: new Date() }),
    )
    expect(db.prepare(text).get(values)).toEqual({ ahead: 10_001 })
  })

  test.each(['jobs', 'history'] as const)('children are found along the ids of %s', (table) => {
    const statement = childrenStatement(table, PLACE.id, { from: PLACE.id, to: PLACE.id })
    const reads = planOf(statement).filter(({ detail }) => / n\b/.test(detail))
    expect(reads.length).toBeGreaterThan(0)
    for (const { detail } of reads) expect(detail).toMatch(/^SEARCH n USING .*\(id>\? AND id<\?\)/)
  })

  test.each(['jobs', 'history'] as const)('so are those of a tree in %s', (table) => {
    const range = { from: PLACE.id, to: PLACE.id }
    const reads = planOf(childrenOfStatement('sqlite', table, [PLACE.id], range))
    const ofJobs = reads.filter(({ detail }) => / n\b/.test(detail))
    expect(ofJobs.length).toBeGreaterThan(0)
    for (const { detail } of ofJobs) expect(detail).toMatch(/^SEARCH n USING .*\(id>\? AND id<\?\)/)
  })

  test('a tree is read along indexes', () => {
    const ids = [PLACE.id]
    for (const statement of [
      edgesStatement('sqlite', ids),
      spawnsStatement('sqlite', ids),
      placesStatement('sqlite', ids),
    ]) {
      const reads = planOf(statement).filter(({ detail }) => / [dof]\b/.test(detail))
      expect(reads.length).toBeGreaterThan(0)
      for (const { detail } of reads) expect(detail).toMatch(/^SEARCH [dof] USING/)
    }
  })
})

describe('a search without an index', () => {
  const bench = new Bench({ name: 'SQLite', createDatabase: createSqliteDatabase, transactions: [] })

  const createdFrom = new Date(0)
  test.each<[string, JobFilter]>([
    ['a text of payloads', { payloadText: 'rare', createdFrom }],
    ['a common meta value with a rarer topic', { meta: { even: true }, topic: 'odd' }],
    ['a meta value with a more common topic', { meta: { rare: true }, topic: 'odd' }],
    ['the end of an id', { idSuffix: 'cafe-0000' }],
    ['a text of errors', { errorText: 'a rare error' }],
  ])('reads the list window by window, and finds each match once: %s', async (_, filter) => {
    const store = await bench.openWithClock()
    const rares: string[] = []
    const ended = new Set<string>()
    for (let i = 0; i < 40; i++) {
      const jobs = Array.from({ length: 100 }, (_, n) => {
        const rare = n === 7 && i % 4 === 0
        const topic = n % 10 === 7 ? 'odd' : 'even'
        const meta = { rare, even: n % 2 === 0 || rare }
        const job = aJob({ topic, meta, payload: rare ? 'a rare one' : {} })
        return rare ? { ...job, id: `${job.id.slice(0, -8)}cafe0000` } : job
      })
      await store.enqueue(jobs)
      if (i % 4 === 0) rares.unshift(jobs[7]?.id ?? '')
      if (i % 2) {
        const error = { ...anError, message: 'a rare error' }
        const { jobs } = await store.claim(claiming({ limit: 100 }))
        await store.settle(
          jobs.map(({ id, run }) =>
            rares.includes(id) ? { id, run, kind: 'fail', error } : complete({ id, run }),
          ),
        )
        for (const { id } of jobs) ended.add(id)
      }
      bench.clock.advance(i * MINUTE)
    }
    const expected = filter.errorText ? rares.filter((id) => ended.has(id)) : rares
    const db = new Database(bench.url.slice('file:'.length))
    const sql = sqliteSql(db, db, new SqliteWriter(db), () => bench.clock.now().getTime())
    const search = (page: PageRequest, searchMs = MINUTE) =>
      list(sql, filter, page, { searchMs, countMs: searchMs, lookUpTo: 3 })
    const all = await search({})
    expect(all.items.map(({ id }) => id)).toEqual(expected)
    expect(all).toMatchObject({ total: expected.length, totalIsExact: true, nextCursor: null })
    const first = await search({ limit: 4 })
    const second = await search({ limit: 9, cursor: first.nextCursor ?? '' })
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(expected)
    expect([first.total, first.totalIsExact, second.total]).toEqual([expected.length, true, expected.length])
    expect((await search({ offset: 8 })).items.map(({ id }) => id)).toEqual(expected.slice(8))
    const oldest = await search({ order: 'oldest', limit: 3 })
    const later = await search({ order: 'oldest', limit: 9, cursor: oldest.nextCursor ?? '' })
    expect([...oldest.items, ...later.items].map(({ id }) => id)).toEqual(expected.toReversed())
    expect([oldest.total, later.total]).toEqual([expected.length, expected.length])

    // One that has no time answers with what it has, and where to go on.
    for (const order of ['newest', 'oldest'] as const) {
      const found: string[] = []
      let pages = 0
      let cursor: string | undefined
      do {
        const page = await search({ limit: 50, cursor, order }, -1)
        if (page.nextCursor) expect(page.totalIsExact).toBe(false)
        found.push(...page.items.map(({ id }) => id))
        cursor = page.nextCursor ?? undefined
        pages += 1
      } while (cursor)
      expect(found).toEqual(order === 'newest' ? expected : expected.toReversed())
      expect(pages).toBeGreaterThan(1)
    }
    db.close()
  })
})

describe.each([
  { name: 'Postgres', createDatabase: () => createPostgresDatabase(inject('postgresUrl')) },
  { name: 'SQLite', createDatabase: createSqliteDatabase },
])('a list on $name beside many live jobs', ({ name, createDatabase }) => {
  const bench = new Bench({ name, createDatabase, transactions: [] })
  const MORE_THAN_A_WALK_PASSES_OVER = 20_001

  let sql: Sql
  let close: () => unknown
  beforeEach(() => {
    if (name === 'Postgres') {
      const client = new PostgresClient(bench.url, 1)
      close = () => client.close()
      sql = postgresSql(client, async () => new Date())
    } else {
      const db = new Database(bench.url.slice('file:'.length))
      close = () => db.close()
      sql = sqliteSql(db, db, new SqliteWriter(db), () => Date.now())
    }
  })
  afterEach(() => close())

  test('finds the few that are wanted window by window, and stops in time', async () => {
    const store = await bench.open()
    const [rare = ''] = await store.enqueue(someJobs(1, { queue: 'rare' }))
    await store.claim(claiming({ queues: ['rare'] }))
    for (let left = MORE_THAN_A_WALK_PASSES_OVER; left > 0; left -= 1_000)
      await store.enqueue(someJobs(Math.min(left, 1_000), { queue: 'common' }))
    for (const filter of [{ status: 'processing' }, { queue: 'rare' }] as const) {
      const found = await list(sql, filter, {}, { searchMs: MINUTE })
      expect([found.items.map(({ id }) => id), found.nextCursor]).toEqual([[rare], null])
      let page = await list(sql, filter, {}, { searchMs: -1 })
      expect(page.items).toEqual([])
      while (page.items.length === 0)
        page = await list(sql, filter, { cursor: page.nextCursor ?? expect.unreachable() }, { searchMs: -1 })
      expect(page.items.map(({ id }) => id)).toEqual([rare])
    }
    const { items, nextCursor } = await list(sql, { queue: 'common' }, {}, { searchMs: -1 })
    expect([items.length, nextCursor === null]).toEqual([50, false])
  })

  test('reads a bounded number of them for its total', async () => {
    const store = await bench.open()
    await store.enqueue(someJobs(10))
    const { jobs } = await store.claim(claiming({ limit: 10 }))
    await store.settle(jobs.map(({ id, run }) => complete({ id, run })))
    await store.enqueue(someJobs(30))
    const total = async (filter: JobFilter, liveUpTo: number) => {
      const { total, totalIsExact } = await list(sql, filter, { limit: 5 }, { liveUpTo })
      return [total, totalIsExact]
    }
    expect(await total({}, 30)).toEqual([40, true])
    expect(await total({}, 20)).toEqual([31, false])
    expect(await total({ status: 'pending' }, 20)).toEqual([21, false])
    expect(await total({ status: 'processing' }, 20)).toEqual([0, false])
    expect(await total({ status: 'completed' }, 20)).toEqual([10, true])
    // What the page shows is there, whether it was counted or not.
    expect(await total({ status: 'pending' }, 0)).toEqual([5, false])
  })
})

describe('a payload search on SQLite', () => {
  const bench = new Bench({ name: 'SQLite', createDatabase: createSqliteDatabase, transactions: [] })
  const JOBS_MADE = 10_000
  /** How many payloads one statement may read, because the process does nothing else meanwhile. */
  const AT_ONCE = 500

  test('uses statements that each read few payloads, with a turn of the event loop before each', async () => {
    const store = await bench.openWithClock()
    for (let n = 0; n < JOBS_MADE; n += 100) {
      await store.enqueue(Array.from({ length: 100 }, () => aJob({ payload: 'hay' })))
      bench.clock.advance(1)
    }
    const db = new Database(bench.url.slice('file:'.length))
    const own = sqliteSql(db, db, new SqliteWriter(db), () => bench.clock.now().getTime())
    let reads = 0
    const sql: Sql = {
      ...own,
      walk(statement) {
        if (statement.text.includes('instr(')) reads++
        return own.walk(statement)
      },
    }
    let turns = 0
    let next = setImmediate(function count() {
      turns++
      next = setImmediate(count)
    })
    onTestFinished(() => clearImmediate(next))
    const expectManyOfBoth = () => {
      expect(reads).toBeGreaterThanOrEqual(JOBS_MADE / AT_ONCE)
      expect(turns).toBeGreaterThanOrEqual(JOBS_MADE / AT_ONCE)
    }
    const filter = { payloadText: 'needle', createdFrom: new Date(0) }
    expect((await list(sql, filter, {}, { searchMs: MINUTE, countMs: MINUTE })).items).toEqual([])
    expectManyOfBoth()

    reads = 0
    turns = 0
    let after: ListPosition | null = null
    do after = (await matching(sql, filter, bench.clock.now(), after, 1_000)).next
    while (after)
    expectManyOfBoth()
    db.close()
  })
})

type Plan = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Actual Rows'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

const isScan = (node: Plan) => /^(jobs|history|payloads|job_meta)$/.test(node['Relation Name'] ?? '')

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

function waysToRead(plan: Plan): string[] {
  const scans = nodesOf(plan).filter(isScan)
  return [...new Set(scans.map((node) => `${node['Node Type']} ${node['Index Name'] ?? ''}`))]
}

/** Tables that are sorted as a whole, and not after a limit. */
function sortedScans(plan: Plan): string[] {
  const sorts = nodesOf(plan).filter((node) => node['Node Type'].includes('Sort'))
  return sorts.flatMap((sort) => (sort.Plans ?? []).filter(isScan)).map((node) => node['Node Type'])
}

const STATUS = `(case when n % 10 < 8 then 'completed' when n % 10 = 8 then 'failed' else 'cancelled' end)::oncue."Status"`

const HISTORY = `insert into oncue.history (id, run_at, created, started_at, finished_at, status, run, timeout_ms, priority,
    retries, max_retries, crashes, queue, topic, payload, fingerprint, meta)
  select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, at, at, at, at, ${STATUS}, 1, 1000, 0, 0, 3, 0, 'default',
    'topic-' || n % 7, '{}', case when n % 10 = 8 then 'f00d' end, json_build_object('agent', n % 3)::jsonb
  from generate_series(1, $1::integer) n, lateral (select '2026-01-01'::timestamptz + n * interval '1 second' as at) t`

const JOB_META = `insert into oncue.job_meta (key, value, created, job_id)
  select e.key, e.value, h.created, h.id from oncue.history h, oncue.meta_entries(h.meta) e`

const JOBS = `insert into oncue.jobs (id, run_at, visible_at, created, updated, status, timeout_ms, priority, max_retries, queue,
    topic, payload, fingerprint)
  select ('01900000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, at, at, at, at, 'pending', 1000, 0, 3, 'default',
    'topic-' || n % 7, '{}', case when n % 10 = 8 then 'f00d' end
  from generate_series(1, $1::integer) n, lateral (select '2026-01-02'::timestamptz + n * interval '1 second' as at) t`
