import type { TopicClash, TopicRow, WorkerRow } from '../../store.ts'
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

type AnnouncedRow = {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly service: string
  readonly schemas: unknown
}

/** Compares what the workers that live announced, topic by topic. */
export async function topicClashes(sql: Sql): Promise<TopicClash[]> {
  const since = new Date((await sql.now()).getTime() - LIVE_MS)
  const rows = await sql.all<AnnouncedRow>(q`select w.id, w.host, w.pid, a.service, a.schemas
    from {announcements} a join {workers} w on w.id = a.worker
    where w.missing_since is null and w.last_beat > ${since}
    order by a.service, w.started_at, w.id`)
  const topics = new Map<string, Map<string, AnnouncedRow[]>>()
  for (const row of rows) {
    for (const [topic, digest] of Object.entries(sql.json(row.schemas) as Record<string, string>)) {
      const sides = topics.get(topic) ?? new Map<string, AnnouncedRow[]>()
      topics.set(topic, sides.set(digest, [...(sides.get(digest) ?? []), row]))
    }
  }
  return [...topics]
    .filter(([, sides]) => sides.size > 1)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([topic, sides]) => ({ topic, sides: [...sides.values()].map(toSide) }))
}

function toSide(rows: readonly AnnouncedRow[]): TopicClash['sides'][number] {
  return {
    services: [...new Set(rows.map(({ service }) => service))],
    workers: rows.map(({ id, host, pid }) => ({ id, host, pid })),
  }
}
