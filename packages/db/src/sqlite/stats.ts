import type { Database } from 'better-sqlite3'
import {
  addKnown,
  type Delta,
  histogramJson,
  keptSince,
  type MinuteRow,
  ROLL_UP_LIMIT,
  sumUp,
} from '../portable/stats.ts'

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

/** As rollUpPostgres does. Synchronous, for the one writer: there is nobody beside it. */
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
