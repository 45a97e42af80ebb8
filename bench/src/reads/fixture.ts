import { type DatabaseName, type Dialect, dialectOf, type Run } from '../fill.ts'

/**
 * Finished jobs as a year of work leaves them, ten million in minutes. Twenty topics in three queues, of
 * which one is small; 97% completed, 2% failed with two hundred fingerprints, 1% cancelled; the newest
 * ended a moment ago. Beside them ten thousand live jobs, and counts that no roll-up has taken yet.
 */
export const LIVE = 10_000
/** What an outage leaves behind. */
export const RETRYING = 1_000_000
const EVERY_MS = 20

const TOPIC = `'topic-' || (n * 7 % 20)`
/** The topics 0 to 3 have a queue of their own, and so does one job in ten thousand. */
const QUEUE = `case when n % 10000 = 17 then 'small' when n * 7 % 20 < 4 then 'high' else 'default' end`
const STATUS = `case when n % 100 < 97 then 'completed' when n % 100 < 99 then 'failed' else 'cancelled' end`
const FINGERPRINT = `case when n % 100 in (97, 98) then 'fault-' || (n / 100 % 200) end`
const META = `'{"agent_id":"agent-' || (n % 1000) || '","tenant":' || (n % 3) || '}'`
const ENTRIES = [
  { key: 'agent_id', value: `'"agent-' || (n % 1000) || '"'` },
  { key: 'tenant', value: `cast(n % 3 as text)` },
]

export class Fixture {
  readonly #dialect: Dialect
  readonly #run: Run
  readonly #now = Date.now()

  constructor(database: DatabaseName, run: Run) {
    this.#dialect = dialectOf(database)
    this.#run = run
  }

  async finished(from: number, to: number): Promise<void> {
    const { table, series, time, id, status, json, jsonb } = this.#dialect
    const ms = `${this.#now} - 60000 - n * ${EVERY_MS}`
    await this.#run(`insert into ${table('history')} (id, run_at, created, started_at, finished_at, status, run, timeout_ms,
        priority, retries, max_retries, crashes, queue, topic, payload, result, last_error, fingerprint, meta)
      select ${id(ms)}, ${time(ms)}, ${time(ms)}, ${time(`${ms} + 5`)}, ${time(`${ms} + 25`)}, ${status(STATUS)}, 1, 600000,
        0, 0, 3, 0, ${QUEUE}, ${TOPIC}, ${json(`'{"userId":"123","template":"weekly"}'`)}, ${json(`'{"sent":3}'`)},
        case when n % 100 in (97, 98) then ${json(`'{"class":"TypeError","message":"userId is not a string","fingerprint":"x"}'`)} end,
        ${FINGERPRINT}, ${jsonb(META)}
      from ${series(from, to)}`)
    for (const { key, value } of ENTRIES)
      await this.#run(`insert into ${table('job_meta')} (key, value, created, job_id)
        select '${key}', ${value}, ${time(ms)}, ${id(ms)} from ${series(from, to)}`)
  }

  async live(): Promise<void> {
    const { table, series, time, id, status, json } = this.#dialect
    const ms = `${this.#now} + n`
    await this.#run(`insert into ${table('jobs')} (id, run_at, visible_at, created, updated, status, timeout_ms, priority,
        max_retries, queue, topic, payload)
      select ${id(ms)}, ${time(ms)}, ${time(ms)}, ${time(ms)}, ${time(ms)}, ${status(`'pending'`)}, 600000, 0,
        3, ${QUEUE}, ${TOPIC}, ${json(`'{"userId":"123"}'`)}
      from ${series(0, LIVE)}`)
  }

  /** Jobs that failed once, with two hundred fingerprints, and are tried again after `inMs`. */
  async retrying(count = RETRYING, inMs = 600_000): Promise<void> {
    const { table, series, time, id, status, json } = this.#dialect
    const ms = `${this.#now} - 1 - n`
    await this.#run(`insert into ${table('jobs')} (id, run_at, visible_at, created, updated, status, timeout_ms, priority,
        max_retries, retries, queue, topic, payload, last_error, fingerprint)
      select ${id(ms)}, ${time(`${ms} + ${inMs}`)}, ${time(`${ms} + ${inMs}`)}, ${time(ms)}, ${time(ms)}, ${status(`'pending'`)},
        600000, 0, 3, 1, ${QUEUE}, ${TOPIC}, ${json(`'{"userId":"123"}'`)},
        ${json(`'{"class":"TypeError","message":"userId is not a string","fingerprint":"x"}'`)}, 'fault-' || (n % 200)
      from ${series(0, count)}`)
  }

  /** What roll-ups and settles would have counted. */
  async counters(): Promise<void> {
    const { id, table, series, time } = this.#dialect
    const count = (name: string) => `sum(case when status = '${name}' then 1 else 0 end)`
    await this.#run(`insert into ${table('totals')} (queue, topic, completed, failed, cancelled, runs, run_ms)
      select queue, topic, ${count('completed')}, ${count('failed')}, ${count('cancelled')}, count(*), 20 * count(*)
      from ${table('history')} group by queue, topic`)
    const minute = `(${this.#now} / 60000 - n / 60) * 60000`
    const trunc = minute.replaceAll(`${this.#now} / 60000`, String(Math.floor(this.#now / 60_000)))
    const columns = `minute, queue, topic, completed, failed, cancelled, waits, runs`
    // A day of minutes for each of sixty pairs, and a thousand counts of the last minute.
    await this.#run(`insert into ${table('stats')} (${columns})
      select ${time(trunc)}, 'queue-' || (n % 60 / 20), 'topic-' || (n % 20), 100, 2, 1, '[0,5,90,5]', '[0,0,0,0,10,80,10]'
      from ${series(0, 24 * 60 * 60)}`)
    await this.#run(`insert into ${table('stat_deltas')} (id, ${columns}, run_ms)
      select ${id('n')}, ${time(String(Math.floor(this.#now / 60_000) * 60_000))}, 'default', ${TOPIC}, 0, 0, 0, '', '', 0
      from ${series(0, 1_000)}`)
  }

  /** The same again, after jobs were added. */
  async recount(): Promise<void> {
    for (const name of ['totals', 'stats', 'stat_deltas'])
      await this.#run(`delete from ${this.#dialect.table(name)}`)
    await this.counters()
  }
}
