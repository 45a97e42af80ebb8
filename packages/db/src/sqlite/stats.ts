import type { Database } from 'better-sqlite3'
import {
  addKnown,
  bucketOf,
  type Delta,
  histogramJson,
  keptSince,
  type MinuteRow,
  noCounts,
  ROLL_UP_LIMIT,
  sumUp,
} from '../portable/stats.ts'
import type { Statement } from '../queue/transaction.ts'

const TAKE = `DELETE FROM oncue_stat_deltas WHERE id IN (SELECT id FROM oncue_stat_deltas LIMIT ?)
RETURNING minute, queue, topic, completed, failed, cancelled, retried, waits, runs, run_ms AS runMs`

const KNOWN = `SELECT completed, failed, cancelled, retried, waits, runs FROM oncue_stats WHERE minute = ? AND queue = ? AND topic = ?`

const SAVE_MINUTE = `INSERT INTO oncue_stats (minute, queue, topic, completed, failed, cancelled, retried, waits, runs)
VALUES (@minute, @queue, @topic, @completed, @failed, @cancelled, @retried, @waits, @runs)
ON CONFLICT (minute, queue, topic) DO UPDATE SET completed = excluded.completed, failed = excluded.failed,
  cancelled = excluded.cancelled, retried = excluded.retried, waits = excluded.waits, runs = excluded.runs`

const SAVE_TOTAL = `INSERT INTO oncue_totals AS t (queue, topic, completed, failed, cancelled, runs, run_ms)
VALUES (@queue, @topic, @completed, @failed, @cancelled, @runs, @runMs)
ON CONFLICT (queue, topic) DO UPDATE SET completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
  cancelled = t.cancelled + excluded.cancelled, runs = t.runs + excluded.runs, run_ms = t.run_ms + excluded.run_ms`

type DeltaRow = Omit<Delta, 'minute'> & { readonly minute: number }
type KnownRow = Pick<MinuteRow, 'completed' | 'failed' | 'cancelled' | 'retried'> & {
  readonly waits: string
  readonly runs: string
}

/** The same as rollUpPostgres. Synchronous, because there is one writer. */
export function rollUpSqlite(db: Database, limit = ROLL_UP_LIMIT): number {
  const rows = db.prepare<unknown[], DeltaRow>(TAKE).all(limit)
  const deltas = rows.map((row) => ({ ...row, minute: new Date(row.minute) }))
  if (deltas.length === 0) return 0
  const { minutes, totals } = sumUp(deltas)
  addKnown(minutes, minutes.flatMap(knownMinute))
  const saveMinute = db.prepare(SAVE_MINUTE)
  for (const row of minutes) {
    const { minute, waits, runs } = row
    saveMinute.run({
      ...row,
      minute: minute.getTime(),
      waits: JSON.stringify(histogramJson(waits)),
      runs: JSON.stringify(histogramJson(runs)),
    })
  }
  const saveTotal = db.prepare(SAVE_TOTAL)
  for (const total of totals) saveTotal.run(total)
  db.prepare('DELETE FROM oncue_stats WHERE minute < ?').run(keptSince(deltas).getTime())
  return deltas.length

  function knownMinute({ minute, queue, topic }: MinuteRow): MinuteRow[] {
    const rows = db.prepare<unknown[], KnownRow>(KNOWN).all(minute.getTime(), queue, topic)
    return rows.map(({ waits, runs, ...counts }) => {
      return { minute, queue, topic, ...counts, waits: JSON.parse(waits), runs: JSON.parse(runs) }
    })
  }
}

type Finished = 'completed' | 'failed' | 'cancelled'

type TallyRow = Omit<Delta, 'minute'>

/** What the statistics need of a run that ended. */
export type EndedRun = {
  readonly queue: string
  readonly topic: string
  readonly run_at: number
  readonly started_at: number | null
}

const INSERT_DELTA = `INSERT INTO oncue_stat_deltas (id, minute, queue, topic, completed, failed, cancelled, retried, waits, runs, run_ms)
VALUES (lower(hex(randomblob(16))), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const MINUTE_MS = 60_000

/** What a batch changes in the statistics: one row for each queue and topic in it. */
export class Tally {
  readonly #now: number
  readonly #deltas = new Map<string, TallyRow>()
  #last: TallyRow | undefined

  constructor(now: number) {
    this.#now = now
  }

  /** Jobs that entered this state without a run, or left it: then the count is negative. */
  count(queue: string, topic: string, status: Finished, count: number): void {
    this.#of(queue, topic)[status] += count
  }

  /** A run that failed and whose job is retried. */
  retry({ queue, topic }: EndedRun): void {
    this.#of(queue, topic).retried += 1
  }

  /** A run that ended: also how long its job waited, and how long it took. */
  run({ queue, topic, run_at, started_at }: EndedRun, status: Finished): void {
    const delta = this.#of(queue, topic)
    const started = started_at ?? this.#now
    delta[status] += 1
    delta.waits += bucketOf(started - run_at)
    delta.runs += bucketOf(this.#now - started)
    delta.runMs += this.#now - started
  }

  statements(): Statement[] {
    const minute = this.#now - (this.#now % MINUTE_MS)
    return [...this.#deltas.values()].map((delta) => ({
      text: INSERT_DELTA,
      values: [
        ...[minute, delta.queue, delta.topic, delta.completed, delta.failed, delta.cancelled],
        ...[delta.retried, delta.waits, delta.runs, delta.runMs],
      ],
    }))
  }

  #of(queue: string, topic: string): TallyRow {
    // Most jobs of a batch have the same queue and topic.
    if (this.#last?.topic === topic && this.#last.queue === queue) return this.#last
    const key = `${queue} ${topic}`
    let delta = this.#deltas.get(key)
    if (!delta) {
      delta = { queue, topic, ...noCounts(), waits: '', runs: '', runMs: 0 }
      this.#deltas.set(key, delta)
    }
    this.#last = delta
    return delta
  }
}
