import { type DatabaseName, type Dialect, dialectOf, type Run } from '../fill.ts'
import { Fixture as ReadsFixture } from '../reads/fixture.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** What stands in the live table beside the jobs that are claimed; each is cut to the size of a small run. */
export const MOST = {
  future: 1_000_000,
  retrying: 1_000_000,
  inFlight: 5_000,
  queues: 1_000,
  keys: 20_000,
  edges: 20_000,
  workers: 100,
}
/** Of each queue. */
const JOBS_PER_QUEUE = 10
/** How many jobs wait for the same parent. */
const EDGES_PER_PARENT = 20

export const queueName = (n: number) => `tenant-${n}`
const QUEUE = `'tenant-' || (n % ${MOST.queues})`
const KEY = `'key-' || n`
/** The topic of the jobs that are claimed and settled: what they leave behind is found by it. */
export const TOPIC = 'scale'

/**
 * Live jobs of every kind, as the store would have left them. None of them can be claimed during the run: those that a
 * claim takes come through the store.
 */
export class Fixture {
  readonly #database: DatabaseName
  readonly #dialect: Dialect
  readonly #run: Run
  readonly #now = Date.now()

  constructor(database: DatabaseName, run: Run) {
    this.#database = database
    this.#dialect = dialectOf(database)
    this.#run = run
  }

  async clear(): Promise<void> {
    const { table } = this.#dialect
    const names = ['jobs', 'deps', 'slots', 'slot_runs', 'queues', 'workers', 'announcements']
    for (const name of names)
      await this.#run(
        this.#database === 'postgres' ? `truncate ${table(name)}` : `delete from ${table(name)}`,
      )
    await this.#run(`delete from ${table('totals')} where queue like 'tenant-%'`)
    for (const name of ['history', 'stat_deltas'])
      await this.#run(`delete from ${table(name)} where topic = '${TOPIC}'`)
  }

  future(count: number): Promise<void> {
    const due = this.#dialect.time(`${this.#now + DAY_MS} + n`)
    return this.#jobs(1, count, { run_at: due, visible_at: due, priority: '10' })
  }

  retrying(count: number): Promise<void> {
    return new ReadsFixture(this.#database, this.#run).retrying(count, DAY_MS)
  }

  /** Half of them had a heartbeat, which moved them to the end of their leases; the others stand where they were claimed. */
  inFlight(count: number): Promise<void> {
    const { time } = this.#dialect
    return this.#jobs(2, count, {
      ...this.#processing(),
      visible_at: `case when n % 2 = 0 then ${time(`${this.#now + HOUR_MS}`)} else ${time(`${this.#now - 1_000}`)} end`,
    })
  }

  async queues(): Promise<void> {
    const { table, series, time } = this.#dialect
    const due = time(`${this.#now + DAY_MS} + n`)
    await this.#jobs(3, MOST.queues * JOBS_PER_QUEUE, { queue: QUEUE, run_at: due, visible_at: due })
    await this.#run(`insert into ${table('queues')} (name) select ${QUEUE} from ${series(0, MOST.queues)}`)
    await this.#run(`insert into ${table('totals')} (queue, topic, completed, failed, cancelled, runs, run_ms)
      select ${QUEUE}, 'topic-1', 1000, 10, 0, 1010, 20000 from ${series(0, MOST.queues)}`)
  }

  /** Of each key one job runs and another waits for its slot. */
  async keys(count: number): Promise<void> {
    const { table, series, time, id } = this.#dialect
    const keyed = { concurrency_key: KEY, concurrency_limit: '1' }
    await this.#jobs(4, count, {
      ...keyed,
      ...this.#processing(),
      visible_at: time(`${this.#now + HOUR_MS}`),
    })
    await this.#jobs(5, count, { ...keyed, visible_at: `case when n < 0 then ${time('n')} end` })
    await this.#run(`insert into ${table('slots')} (key, waiting, since)
      select 'k:' || ${KEY}, true, ${time(`${this.#now}`)} from ${series(0, count)}`)
    await this.#run(`insert into ${table('slot_runs')} (key, job_id, run, taken, until)
      select 'k:' || ${KEY}, ${id(`${this.#now + 4}`)}, 1, ${time(`${this.#now}`)}, ${time(`${this.#now + HOUR_MS}`)}
      from ${series(0, count)}`)
  }

  /** Jobs that wait for others, which are due tomorrow. */
  async edges(count: number): Promise<void> {
    const { table, series, time, id, status } = this.#dialect
    const parents = Math.ceil(count / EDGES_PER_PARENT)
    const due = time(`${this.#now + DAY_MS}`)
    await this.#jobs(6, parents, { run_at: due, visible_at: due })
    await this.#jobs(7, count, {
      status: status(`'blocked'`),
      visible_at: `case when n < 0 then ${time('n')} end`,
      deps_left: '1',
    })
    await this.#run(`insert into ${table('deps')} (job_id, parent_id, policy, checked)
      select ${id(`${this.#now + 7}`)}, ${id(`${this.#now + 6}`, `(n % ${parents})`)}, 'wait', true
      from ${series(0, count)}`)
  }

  async workers(): Promise<void> {
    const { table, series, time, id, json, jsonb } = this.#dialect
    const now = time(`${this.#now}`)
    await this.#run(`insert into ${table('workers')} (id, host, pid, queues, concurrency, version, started_at, last_beat)
      select ${this.#worker('n')}, 'host-' || (n % 10), 1000 + n, ${jsonb(`'["default"]'`)}, 24, '1.0.0', ${now}, ${now}
      from ${series(0, MOST.workers)}`)
    await this.#run(`insert into ${table('announcements')} (worker, service, schemas, announced)
      select ${id('1')}, 'service', ${json(`'{}'`)}, ${now} from ${series(0, MOST.workers)}`)
  }

  #worker(n: string): string {
    return this.#dialect.id('1', n)
  }

  #processing(): Record<string, string> {
    const { time, status } = this.#dialect
    return {
      status: status(`'processing'`),
      locked_until: time(`${this.#now + HOUR_MS}`),
      locked_by: this.#worker(`(n % ${MOST.workers})`),
      started_at: time(`${this.#now}`),
      run: '1',
    }
  }

  /** Each kind has ids of its own. */
  async #jobs(kind: number, count: number, own: Readonly<Record<string, string>>): Promise<void> {
    const { table, series, time, id, status, json } = this.#dialect
    const now = time(`${this.#now}`)
    const columns: Record<string, string> = {
      id: id(`${this.#now + kind}`),
      run_at: now,
      visible_at: now,
      created: now,
      updated: now,
      status: status(`'pending'`),
      timeout_ms: '600000',
      priority: '0',
      max_retries: '3',
      queue: `'default'`,
      topic: `'topic-' || (n % 20)`,
      payload: json(`'{"userId":"123"}'`),
      ...own,
    }
    await this.#run(`insert into ${table('jobs')} (${Object.keys(columns).join(', ')})
      select ${Object.values(columns).join(', ')} from ${series(0, count)}`)
  }
}
