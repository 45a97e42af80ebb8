import { type EnqueueOptions, isOncueError, type JobId, type NewJob, prepareJob } from '@oncue/core'
import { toBatch } from '@oncue/core/internal'
import Database from 'better-sqlite3'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { type Control, openControl } from '../src/control/index.ts'
import { openStore } from '../src/open.ts'
import type { NewOutcome, Outcome, SuspendedWait } from '../src/portable/outcomes.ts'
import type { JobFilter, RunRef, Settlement, Store } from '../src/store.ts'
import { sqliteFile } from '../src/url.ts'
import { anError, MINUTE, TestClock, WORKER } from './conformance/harness.ts'
import { createPostgresDatabase, createSqliteDatabase } from './support/index.ts'

/**
 * What PL/pgSQL does on one database is written again in TypeScript for the other. So the same random
 * calls are made on both, and every answer and every row is compared.
 */
test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'both databases return the same answers and rows: %i',
  { timeout: 120_000 },
  async (seed) => {
    const random = randomNumbers(seed)
    const clock = new TestClock()
    const databases = [
      await createPostgresDatabase(inject('postgresUrl')),
      await createSqliteDatabase(),
    ] as const
    const stores = await Promise.all(databases.map(({ url }) => openStore(url, { clock: clock.now })))
    const reader = {
      postgres: new pg.Client(databases[0].url),
      sqlite: new Database(sqliteFile(databases[1].url)),
    }
    await reader.postgres.connect()
    try {
      const life = new Life(random, clock)
      for (let step = 0; step < 150; step++) {
        const { name, act } = life.next()
        const [onPostgres, onSqlite] = await Promise.all(stores.map((store) => outcome(() => act(store))))
        expect(onSqlite, `step ${step}: ${name}`).toEqual(onPostgres)
        life.learn(onPostgres)
        expect(rowsOfSqlite(reader.sqlite), `rows after step ${step}: ${name}`).toEqual(
          await rowsOfPostgres(reader.postgres),
        )
      }
    } finally {
      for (const store of stores) await store.close()
      await reader.postgres.end()
      reader.sqlite.close()
      for (const database of databases) await database.drop()
    }
  },
)

type Unique = NonNullable<EnqueueOptions['unique']>

type Action = { readonly name: string; readonly act: (store: Store) => Promise<unknown> }

/** Chooses the next call, and remembers its result. */
class Life {
  readonly #random: (below: number) => number
  readonly #clock: TestClock
  readonly #ids: JobId[] = []
  #runs: RunRef[] = []
  readonly #children = new Map<JobId, JobId[]>()

  constructor(random: (below: number) => number, clock: TestClock) {
    this.#random = random
    this.#clock = clock
  }

  next(): Action {
    const pick = this.#random(140)
    if (pick >= 134) return this.#spawn()
    if (pick >= 120) return this.#record()
    if (pick >= 114) return this.#signal()
    if (pick >= 108) return this.#answer()
    if (pick >= 100) return this.#recordUndo()
    if (pick < 30) return this.#enqueue()
    if (pick < 50) return this.#claim()
    if (pick < 72) return this.#settle()
    if (pick < 80) return this.#advance()
    if (pick < 84) return { name: 'rescue', act: (store) => store.rescue() }
    if (pick < 87) return this.#heartbeat()
    if (pick < 89) return this.#recordProgress()
    if (pick < 91) return this.#limit()
    return this.#byPeople()
  }

  learn(answer: unknown): void {
    const { jobs } = (answer ?? {}) as { jobs?: RunRef[] }
    if (jobs) this.#runs.push(...jobs.map(({ id, run }) => ({ id, run })))
  }

  #enqueue(): Action {
    const jobs = Array.from({ length: 1 + this.#random(4) }, () => this.#job())
    // Now and then one waits for another job of the same call, which may stand for a third.
    const [first, ...rest] = jobs
    const given =
      first && this.#random(3) === 0 ? [first, ...rest.map((job) => ({ ...job, after: [first.id] }))] : jobs
    const stored = this.#random(5) === 0 ? this.#batch(given) : given
    this.#ids.push(...stored.map((job) => job.id))
    return { name: `enqueue ${JSON.stringify(stored.map(told))}`, act: (store) => store.enqueue(stored) }
  }

  #batch(jobs: readonly NewJob[]): NewJob[] {
    const follower = () => prepareJob(this.#one(['mail', 'bill']), null, { queue: 'low' })
    return toBatch(jobs, this.#random(2) === 0 ? follower() : undefined, follower())
  }

  #job(): NewJob {
    const options: EnqueueOptions = {
      queue: this.#one(['default', 'low']),
      priority: this.#one([0, 0, 5]),
      maxRetries: this.#random(3),
      ...(this.#random(5) === 0 && { delay: this.#random(2) * MINUTE }),
      ...(this.#random(3) === 0 && {
        unique: {
          key: this.#one(['a', 'b', 'c']),
          ...this.#one<Partial<Unique>>([
            { onConflict: 'existing' },
            { onConflict: 'replace' },
            { onConflict: 'replace', ifRunning: 'start' },
            { onConflict: 'reject' },
            { scope: 'all' },
          ]),
          ...(this.#random(2) === 0 && { within: MINUTE }),
        },
      }),
      ...(this.#random(3) === 0 && { meta: { agent: this.#random(3), text: 'ä"\n', list: [1], yes: true } }),
      ...(this.#random(6) === 0 && { idempotencyKey: this.#one(['x', 'y']) }),
      ...(this.#random(3) === 0 && {
        concurrencyKey: this.#one(['k1', 'k2']),
        concurrencyLimit: 1 + this.#random(2),
      }),
      ...(this.#ids.length > 0 &&
        this.#random(3) === 0 && {
          after: [this.#one(this.#ids), this.#one(this.#ids)],
          onParentFailure: this.#one(['wait', 'stop', 'go_on', 'cancel'] as const),
        }),
    }
    const payload = this.#random(8) === 0 ? 'x'.repeat(3_000) : this.#random(1_000)
    return prepareJob(this.#one(['mail', 'bill']), payload, options)
  }

  #claim(): Action {
    const limit = 1 + this.#random(6)
    const request = {
      queues: ['default', 'low'],
      limit,
      start: this.#random(limit + 1),
      worker: WORKER,
      leaseMs: MINUTE,
    }
    return {
      name: `claim ${limit}`,
      act: async (store) => {
        const { jobs, nextDue, now } = await store.claim(request)
        return {
          jobs: jobs.map(({ id, run, payload, crashes }) => ({ id, run, payload, crashes })).sort(byId),
          nextDue,
          now,
        }
      },
    }
  }

  #settle(): Action {
    const settlements = this.#takeRuns().map((run) => this.#outcomeOf(run))
    return {
      name: `settle ${JSON.stringify(settlements)}`,
      act: async (store) => {
        const { stale, cancelled = [], undoing = [], refused } = await store.settle(settlements)
        const [a, b, c] = [stale, cancelled, undoing].map((runs) => runs.toSorted(byId))
        return { stale: a, cancelled: b, undoing: c, refused }
      },
    }
  }

  #outcomeOf({ id, run }: RunRef): Settlement {
    const delayMs = this.#random(2) * MINUTE
    return this.#one<Settlement>([
      { id, run, kind: 'complete', result: this.#random(5) === 0 ? `"${'r'.repeat(3_000)}"` : '1' },
      { id, run, kind: 'complete' },
      { id, run, kind: 'retry', delayMs, error: anError },
      { id, run, kind: 'fail', error: anError },
      { id, run, kind: 'snooze', delayMs },
      { id, run, kind: 'release', interrupted: delayMs > 0 },
      { id, run, kind: 'cancel' },
      { id, run, kind: 'undone' },
      ...[1, 2].map(() => ({
        ...{ id, run, kind: 'suspend' as const },
        waits: this.#waits(id),
        progressed: this.#random(2) === 0,
        ...(this.#random(2) === 0 && { error: this.#one([anError, { ...anError, fingerprint: 'beef' }]) }),
      })),
    ])
  }

  /** As a run may wait: for one thing, or for the first of two. */
  #waits(id: JobId): SuspendedWait[] {
    const after = this.#seen()
    const children = this.#children.get(id) ?? []
    const delayMs = this.#random(2) * MINUTE + 500
    const all: SuspendedWait[] = [
      { kind: 'timer', name: 'nap', key: 'sleep:nap', delayMs },
      { kind: 'timer', name: 'date', key: 'sleep:date', until: new Date(this.#clock.now().getTime() - 500) },
      { kind: 'retry', name: 'charge', key: 'retry:charge#1', delayMs },
      { kind: 'signal', name: 'bank', key: 'receive:bank#1', after },
      { kind: 'signal', name: 'visa', key: 'receive:visa#1', after, delayMs },
      { kind: 'ask', name: 'ok', key: 'ask:ok' },
      ...(children.length > 0
        ? [{ kind: 'children' as const, name: 'all#1', key: 'all#1:0', children }]
        : []),
    ]
    const [first, second] = [this.#one(all), this.#one(all)]
    return first === second || this.#random(2) === 0 ? [first] : [first, second]
  }

  #takeRuns(): RunRef[] {
    const taken = this.#runs.filter(() => this.#random(2) === 0)
    this.#runs = this.#runs.filter((run) => !taken.includes(run))
    return taken
  }

  #heartbeat(): Action {
    const runs = this.#runs.map((run) => ({ ...run, started: this.#random(2) === 0 }))
    return {
      name: 'heartbeat',
      act: async (store) => {
        const { lost, cancelled } = await store.heartbeat({ worker: WORKER, leaseMs: MINUTE, runs })
        return { lost: lost.toSorted(byId), cancelled: cancelled.toSorted(byId) }
      },
    }
  }

  #recordProgress(): Action {
    const updates = this.#runs.map((run) => ({
      ...run,
      ...(this.#random(2) === 0 && { progress: `${this.#random(100)}` }),
      ...(this.#random(2) === 0 && { cursor: `"page ${this.#random(100)}"` }),
      events: Array.from({ length: this.#random(3) }, (_, n) => ({ type: `told.${n}`, data: { n } })),
    }))
    return {
      name: 'record progress',
      act: async (store) => ({ stale: (await store.recordProgress(updates)).stale.toSorted(byId) }),
    }
  }

  #recordUndo(): Action {
    const undo = this.#one(['refund', 'unbook'])
    const kind = this.#one(['undo', 'undo', 'undone'] as const)
    const outcomes = [
      { key: `step:${undo}`, kind: 'step' as const, data: '{}' },
      { key: `${kind}:${undo}`, kind },
    ]
    const runs = this.#runs.map((run) => ({ ...run, after: 0, outcomes }))
    return {
      name: `record ${kind} ${undo}`,
      act: async (store) => ({ stale: (await store.durable.record(runs)).stale.toSorted(byId) }),
    }
  }

  /** Any outcome that a run may record. */
  #record(): Action {
    const delayMs = this.#random(3) === 0 ? MINUTE : undefined
    const asking = { name: 'ok', question: 'Ok?', schema: {}, role: 'operator', delayMs }
    const now = this.#clock.now().getTime()
    const outcomes = [1, 2].map(() =>
      this.#one<NewOutcome>([
        { key: `step:${this.#random(3)}`, kind: 'step', data: `{"result":${this.#random(9)}}` },
        { key: 'step:lost', kind: 'step_failed', data: '{}' },
        { key: 'sleep:nap', kind: 'timer', dueAt: new Date(now - 500) },
        { key: 'sleep:date', kind: 'timer', dueAt: new Date(now + 500) },
        { key: 'since:change', kind: 'since', data: 'true' },
        { key: 'receive:bank#1', kind: 'timeout', unless: { signal: 'bank', seen: this.#seen() } },
        { key: 'ask:ok', kind: 'ask', data: JSON.stringify(asking) },
        { key: 'ask:ok', kind: 'timeout' },
      ]),
    )
    const runs = this.#runs.map((run) => ({ ...run, after: this.#seen(), outcomes }))
    return {
      name: `record ${JSON.stringify(outcomes)}`,
      act: async (store) => {
        const { stale, recorded } = await store.durable.record(runs)
        return { stale: stale.toSorted(byId), recorded: [...recorded].map(([id, of]) => [id, delivered(of)]) }
      },
    }
  }

  /** Nothing, or all that there is. */
  #seen(): number {
    return this.#one([0, 1_000])
  }

  #signal(): Action {
    // With a key, because the signals of the two databases have other ids.
    const signal = {
      id: this.#one(this.#ids.length > 0 ? this.#ids : [ABSENT]),
      name: this.#one(['bank', 'visa']),
      data: `${this.#random(9)}`,
      key: this.#one(['a', 'b', 'c']),
    }
    return { name: `signal ${JSON.stringify(signal)}`, act: (store) => store.durable.signal(signal) }
  }

  #answer(): Action {
    const id = this.#one(this.#ids.length > 0 ? this.#ids : [ABSENT])
    const answer = { id, name: 'ok', value: `${this.#random(2)}`, by: 'anna', key: this.#one(['a', 'b']) }
    return { name: `answer ${JSON.stringify(answer)}`, act: (store) => store.durable.answer(answer) }
  }

  #spawn(): Action {
    const [parent] = this.#runs
    if (!parent) return this.#enqueue()
    const spawns = Array.from({ length: 1 + this.#random(3) }, () => {
      const n = this.#random(4)
      const job = prepareJob('mail', n, { parentId: parent.id, queue: 'low', maxRetries: 0 })
      return { key: `spawn:mail#${n}`, hash: `${n}`, job, child: { cancels: this.#random(2) === 0 } }
    })
    const made = spawns.filter(({ key }, n) => spawns.findIndex((each) => each.key === key) === n)
    const ids = made.map(({ job }) => job.id)
    this.#ids.push(...ids)
    this.#children.set(parent.id, [...(this.#children.get(parent.id) ?? []), ...ids])
    return {
      name: `spawn ${JSON.stringify(made.map(({ key, job }) => [key, job.id]))} of ${parent.id}`,
      act: async (store) => {
        const outcomes = await store.durable.spawn({ ...parent, after: 0, spawns: made })
        return outcomes && delivered(outcomes)
      },
    }
  }

  #advance(): Action {
    const ms = this.#one([1, 1_000, MINUTE / 2, MINUTE + 1])
    this.#clock.advance(ms)
    return { name: `${ms} ms pass`, act: async () => undefined }
  }

  #limit(): Action {
    const target = this.#one([{ queue: 'default' }, { queue: 'low' }, { concurrencyKey: 'k1' }])
    const limit = this.#one([
      null,
      { maxRunning: 1 + this.#random(3) },
      { maxRunning: 10, rate: { count: 1 + this.#random(2), intervalMs: 1_000 } },
    ])
    return { name: `limit ${JSON.stringify([target, limit])}`, act: (store) => store.limit(target, limit) }
  }

  #byPeople(): Action {
    const ids = this.#ids.filter(() => this.#random(6) === 0)
    const by = { by: 'on-call' }
    const before = this.#clock.now()
    const fromStart = this.#random(2) === 0
    return this.#one<Action>([
      { name: `cancel ${ids}`, act: (store) => store.cancel(ids, by) },
      { name: `requeue ${ids}`, act: (store) => store.requeue(ids, by) },
      {
        name: `requeue ${ids[0]} with another payload`,
        act: async (store) => {
          const job = await store.get(ids[0] ?? '')
          if (!job) return null
          const { id, run, updated } = job
          const change = {
            id,
            run,
            updated,
            payload: '"another"',
            ...by,
            paths: ['payload'],
          }
          return store.requeueWithPayload(change).catch((error) => error.code)
        },
      },
      {
        name: `requeue from ${ids[0]}`,
        act: (store) =>
          store
            .requeueFrom({ id: ids[0] ?? '', step: fromStart ? null : 'charge', ...by })
            .catch((error) => error.code),
      },
      { name: `run now ${ids}`, act: (store) => store.runNow(ids, by) },
      { name: `delete ${ids}`, act: (store) => store.delete(ids, by) },
      {
        name: 'prune',
        act: (store) => store.prune({ status: 'completed', finishedBefore: before, limit: 3 }),
      },
      {
        name: 'failures',
        act: async (store) => {
          const { items } = await store.list({ fingerprint: anError.fingerprint })
          return [await store.failures(), items.map(({ id }) => id)]
        },
      },
      { name: 'pause', act: (store) => store.pause('low') },
      { name: 'resume', act: (store) => store.resume('low') },
      { name: 'age', act: age },
      this.#search(),
    ])
  }

  #search(): Action {
    const digits = -4 - this.#random(32)
    const filter = this.#one<JobFilter>([
      { idSuffix: this.#one(this.#ids.length > 0 ? this.#ids : ['cafe']).slice(digits) },
      { errorText: this.#one(['TYPEERROR: userid', 'not a string', 'none has it']) },
    ])
    return {
      name: `list ${JSON.stringify(filter)}`,
      act: async (store) => (await store.list(filter)).items.map(({ id }) => id),
    }
  }

  #one<T>(choices: readonly T[]): T {
    const choice = choices[this.#random(choices.length)]
    if (choice === undefined) throw new Error('nothing to choose from')
    return choice
  }
}

/** Opened once for each store: a Prisma client takes a while to load. */
const controls = new WeakMap<Store, Promise<Control>>()

async function age(store: Store): Promise<void> {
  const control = controls.get(store) ?? openControl(store)
  controls.set(store, control)
  await (await control).queues.configure('default', { ageingMs: 1_000 })
}

const byId = (a: RunRef, b: RunRef) => (a.id < b.id ? -1 : 1)
const told = ({ id, unique, idempotencyKey, after, onParentFailure, concurrencyKey }: NewJob) => ({
  id,
  unique,
  idempotencyKey,
  after,
  onParentFailure,
  concurrencyKey,
})

/** What a handler gets, in its order. */
const delivered = (outcomes: readonly Outcome[]) =>
  outcomes.filter(({ kind }) => kind !== 'wait').map(({ seq: _, ...outcome }) => outcome)

async function outcome(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return await act()
  } catch (error) {
    if (!isOncueError(error)) throw error
    return { code: error.code, ...(error.code !== 'UNKNOWN_PARENT' && { details: error.details }) }
  }
}

/** Starts from a given number, so that a sequence that failed can be repeated. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_507) + 3_266_489_909) | 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}

const ABSENT = '01900000-0000-7000-8000-000000000000'

/** Their numbers may have gaps on Postgres; those of `wait` reach no handler, and their places may differ. */
const ORDER = `cast(case when kind <> 'wait' then count(case when kind <> 'wait' then 1 end)
  over (partition by job_id order by seq) end as int)`

const TABLES: Record<string, { columns: string[]; times: string[]; jsons?: string[] }> = {
  flow_places: { columns: ['flow_id', 'place', 'job_id', 'kind', 'name', 'cast(after as text)'], times: [] },
  jobs: {
    columns: [
      'id',
      'status',
      'run',
      'retries',
      'crashes',
      'priority',
      'deps_left',
      'fingerprint',
      'unique_key',
      'unique_scope',
      'replaced_by',
      'cast(progress as text)',
      'cast(cursor as text)',
      `ending ->> 'status'`,
      `ending ->> 'since'`,
      `ending ->> 'fingerprint'`,
      `last_error ->> 'message'`,
    ],
    times: ['run_at', 'visible_at', 'locked_until', 'started_at', 'cancel_at'],
    jsons: ['waits'],
  },
  history: {
    columns: [
      'id',
      'status',
      'run',
      'retries',
      'crashes',
      'fingerprint',
      'unique_key',
      'unique_scope',
      'cast(progress as text)',
      'cast(cursor as text)',
      `last_error ->> 'message'`,
    ],
    times: ['run_at', 'started_at', 'finished_at'],
  },
  keys: { columns: ['topic', 'key', 'job_id'], times: ['until'] },
  outcomes: { columns: ['job_id', 'key', ORDER, 'kind', 'name'], times: ['created'], jsons: ['data'] },
  // When it was closed differs where a run records a timeout of a question that it has not asked, as only a test does.
  asks: {
    columns: ['job_id', 'name', 'question', 'role', 'refused', 'cast(closed is null as int)'],
    times: ['until', 'created'],
  },
  children: {
    columns: ['parent_id', 'key', 'child_id', 'cast(cancels as int)', 'cast(orphaned as int)'],
    times: [],
  },
  child_waits: { columns: ['parent_id', 'wait', 'child_id'], times: [] },
  deps: { columns: ['job_id', 'parent_id', 'policy'], times: [] },
  events: { columns: ['job_id', 'version', 'type'], times: ['created'] },
  slots: { columns: ['key', 'max_running', 'rate_count', 'rate_ms'], times: [] },
  slot_runs: { columns: ['key', 'job_id', 'run'], times: [] },
  payloads: { columns: ['job_id', 'part'], times: [] },
  job_meta: { columns: ['key', 'value', 'job_id'], times: ['created'] },
}

const COUNTED = ['completed', 'failed', 'cancelled', 'run_ms', 'length(waits)', 'length(runs)']

function queries(
  prefix: string,
  time: (column: string) => string,
  number: (sum: string) => string,
): { readonly text: string; readonly jsons: number }[] {
  const tables = Object.entries(TABLES).map(([table, { columns, times, jsons = [] }]) => {
    const texts = jsons.map((column) => `cast(${column} as text)`)
    const text = `select ${[...columns, ...times.map(time), ...texts].join(', ')} from ${prefix}${table}`
    return { text, jsons: jsons.length }
  })
  const sums = COUNTED.map((column) => number(`sum(${column})`)).join(', ')
  const text = `select queue, topic, ${sums} from ${prefix}stat_deltas group by queue, topic`
  return [...tables, { text, jsons: 0 }]
}

/** In one order, and JSON without its spaces. */
function comparable(rows: readonly unknown[][], jsons: number): string[] {
  const plain = (row: readonly unknown[]) =>
    row.map((value, n) => (n >= row.length - jsons && value !== null ? JSON.parse(String(value)) : value))
  return rows.map((row) => JSON.stringify(plain(row))).sort()
}

async function rowsOfPostgres(client: pg.Client): Promise<string[][]> {
  const time = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`
  const all: string[][] = []
  for (const { text, jsons } of queries('oncue.', time, (sum) => `${sum}::float8`)) {
    const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' })
    all.push(comparable(rows, jsons))
  }
  return all
}

function rowsOfSqlite(db: Database.Database): string[][] {
  return queries(
    'oncue_',
    (column) => column,
    (sum) => sum,
  ).map(({ text, jsons }) => comparable(db.prepare(text).raw().all() as unknown[][], jsons))
}
