import type { TopicRow, WorkerRow } from '../../store.ts'
import { fieldsOf, q, type Sql } from '../sql.ts'

/** A worker that was seen this recently is taken to run. */
export const LIVE_MS = 30_000

/** Who is here, those that came first first, and how much each of them runs. */
export async function workers(sql: Sql): Promise<WorkerRow[]> {
  const rows =
    await sql.all(q`select w.id, w.host, w.pid, w.queues, w.concurrency, w.version, w.missing_since,
      w.started_at, w.last_beat, coalesce(r.running, 0) as running
    from {workers} w
    left join (select locked_by, count(*) as running from {jobs} where status = 'processing' group by locked_by) r
      on r.locked_by = w.id
    order by w.started_at, w.id`)
  const kinds = { queues: 'json', started_at: 'time', last_beat: 'time', missing_since: 'time' } as const
  return rows.map((row) => fieldsOf(sql, row, kinds))
}

export async function topics(sql: Sql): Promise<TopicRow[]> {
  const rows = await sql.all(q`select topic, input, output, policy, announced from {topics} order by topic`)
  const kinds = { input: 'json', output: 'json', policy: 'json', announced: 'time' } as const
  return rows.map((row) => fieldsOf(sql, row, kinds))
}
