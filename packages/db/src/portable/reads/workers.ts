import type { TopicRow, WorkerRow } from '../../store.ts'
import { q, type Sql, timeOf } from '../sql.ts'

/** A worker that was seen this recently is taken to run. */
export const LIVE_MS = 30_000

type Row = {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly queues: unknown
  readonly concurrency: number
  readonly version: string
  readonly missing_since: unknown
  readonly started_at: unknown
  readonly last_beat: unknown
  readonly running: number
}

/** Who is here, those that came first first, and how much each of them runs. */
export async function workers(sql: Sql): Promise<WorkerRow[]> {
  const rows =
    await sql.all<Row>(q`select w.id, w.host, w.pid, w.queues, w.concurrency, w.version, w.missing_since,
      w.started_at, w.last_beat, coalesce(r.running, 0) as running
    from {workers} w
    left join (select locked_by, count(*) as running from {jobs} where status = 'processing' group by locked_by) r
      on r.locked_by = w.id
    order by w.started_at, w.id`)
  return rows.map((row) => ({
    id: row.id,
    host: row.host,
    pid: row.pid,
    queues: sql.json(row.queues) as string[],
    concurrency: row.concurrency,
    version: row.version,
    startedAt: timeOf(sql, row.started_at),
    lastBeat: timeOf(sql, row.last_beat),
    missingSince: sql.time(row.missing_since),
    running: row.running,
  }))
}

export async function topics(sql: Sql): Promise<TopicRow[]> {
  type Announced = {
    readonly topic: string
    input: unknown
    output: unknown
    policy: unknown
    announced: unknown
  }
  const rows = await sql.all<Announced>(
    q`select topic, input, output, policy, announced from {topics} order by topic`,
  )
  return rows.map((row) => ({
    topic: row.topic,
    input: sql.json(row.input),
    output: sql.json(row.output),
    policy: sql.json(row.policy),
    announced: timeOf(sql, row.announced),
  }))
}
