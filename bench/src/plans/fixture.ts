import { fn } from '@oncue/db/testing'
import type pg from 'pg'

/** The times of a job, in milliseconds from the moment at which the fixture was made. */
const PAST_MS = -60_000
const DAY_MS = 86_400_000
const LEASE_MS = 300_000
const WORKER = '01900000-0000-7000-8000-00000000000a'

/** Inserts rows as the store would have left them, a million in seconds. All times refer to one moment. */
export class Fixture {
  readonly #client: pg.Client
  readonly now = new Date()

  constructor(client: pg.Client) {
    this.#client = client
  }

  async clear(): Promise<void> {
    await this.#client.query('truncate oncue.jobs, oncue.history')
    await this.#client.query('create temp sequence if not exists fixture')
  }

  ready(count: number): Promise<void> {
    return this.#insert(count, { dueMs: PAST_MS, everyMs: 0.001 })
  }

  /** A bulk enqueue: all ready at one moment. */
  ties(count: number): Promise<void> {
    return this.#insert(count, { dueMs: PAST_MS })
  }

  future(count: number): Promise<void> {
    return this.#insert(count, { dueMs: DAY_MS, everyMs: 1, priority: 10 })
  }

  parked(count: number): Promise<void> {
    return this.#insert(count, { dueMs: LEASE_MS, parked: true })
  }

  /** Claimed and completed, in batches. Their dead rows stay in the live table until a vacuum. */
  async finished(count: number): Promise<void> {
    await this.#insert(count, { dueMs: 2 * PAST_MS })
    for (let left = count; left > 0; left -= 50_000) {
      await this.#client.query(
        `select ${fn('settle')}($1, array_agg(j.id order by j.id), array_agg(j.run order by j.id), null, null, '{}', '{}', '{}')
         from ${fn('claim')}($1, $2, $3, '{default}', null, $4, $4, '{}', '{}', '{}', '{}') as c,
           string_to_table(c.jobs, E'\\x1e') as text,
           lateral (select split_part(text, E'\\x1f', 1)::uuid as id, split_part(text, E'\\x1f', 2)::integer as run) as j`,
        [this.now, WORKER, LEASE_MS, Math.min(left, 50_000)],
      )
    }
  }

  async vacuum(): Promise<void> {
    await this.#client.query('vacuum oncue.jobs')
  }

  /**
   * Pages that one claim touches, cached or not. It runs twice and is rolled back twice: the first
   * time fills the caches of the session. `mark` is a low-water mark behind everything finished.
   */
  async buffers(limit: number, mark: boolean): Promise<number> {
    const marks = mark ? [['default'], [0], [this.#at(1.5 * PAST_MS)], [WORKER]] : [[], [], [], []]
    let buffers = Number.NaN
    for (let run = 0; run < 2; run++) {
      await this.#client.query('begin')
      const { rows } = await this.#client.query(
        `explain (analyze, buffers, timing off, format json)
         select * from ${fn('claim')}($1, $2, $3, '{default}', null, $4, $4, $5, $6, $7, $8)`,
        [this.now, WORKER, LEASE_MS, limit, ...marks],
      )
      await this.#client.query('rollback')
      const plan = rows[0]?.['QUERY PLAN'][0].Plan
      buffers = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    }
    return buffers
  }

  async #insert(
    count: number,
    {
      dueMs,
      everyMs = 0,
      priority = 0,
      parked = false,
    }: { dueMs: number; everyMs?: number; priority?: number; parked?: boolean },
  ): Promise<void> {
    await this.#client.query(
      `insert into oncue.jobs (id, queue, topic, payload, priority, max_retries, timeout_ms, created, updated,
         run_at, visible_at, status, locked_until, locked_by, started_at, run)
       select ('01900000-0000-7000-8000-' || lpad(to_hex(nextval('fixture')), 12, '0'))::uuid,
         'default', 'mail_digest', '{"userId":"123"}', $2, 3, 600000, $1, $1, due.at, due.at,
         case when $6 then 'processing' else 'pending' end::oncue."Status",
         case when $6 then due.at end, case when $6 then $7::uuid end, case when $6 then $1::timestamptz end, $6::int
       from generate_series(0, $5::int - 1) as n,
         lateral (select $1::timestamptz + ($3::float8 + n * $4::float8) * interval '1 ms' as at) as due`,
      [this.now, priority, dueMs, everyMs, count, parked, WORKER],
    )
  }

  #at(ms: number): Date {
    return new Date(this.now.getTime() + ms)
  }
}
