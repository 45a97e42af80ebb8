import type { TopicClash, TopicRow, WorkerRow } from '../../store.ts'
import { q, readAll, type Sql } from '../sql.ts'

/** A worker that was seen this recently is assumed to run. */
export const LIVE_MS = 30_000

/** The workers, oldest first, and how many jobs each of them runs. */
export function workers(sql: Sql): Promise<WorkerRow[]> {
  return readAll(
    sql,
    q`select w.id, w.host, w.pid, w.queues, w.concurrency, w.version, w.missing_since,
      w.started_at, w.last_beat, coalesce(r.running, 0) as running
    from {workers} w
    left join (select locked_by, count(*) as running from {jobs} where status = 'processing' group by locked_by) r
      on r.locked_by = w.id
    order by w.started_at, w.id`,
    { queues: 'json', started_at: 'time', last_beat: 'time', missing_since: 'time' },
  )
}

export function topics(sql: Sql): Promise<TopicRow[]> {
  const statement = q`select topic, input, output, policy, announced from {topics} order by topic`
  return readAll(sql, statement, { input: 'json', output: 'json', policy: 'json', announced: 'time' })
}

type Announced = Pick<WorkerRow, 'id' | 'host' | 'pid'> & {
  readonly service: string
  readonly schemas: Readonly<Record<string, string>>
}

/** Compares what the live workers announced, topic by topic. */
export async function topicClashes(sql: Sql): Promise<TopicClash[]> {
  const since = new Date((await sql.now()).getTime() - LIVE_MS)
  const statement = q`select w.id, w.host, w.pid, a.service, a.schemas
    from {announcements} a join {workers} w on w.id = a.worker
    where w.missing_since is null and w.last_beat > ${since}
    order by a.service, w.started_at, w.id`
  const topics = new Map<string, Map<string, Announced[]>>()
  for (const row of await readAll<Announced>(sql, statement, { schemas: 'json' })) {
    for (const [topic, digest] of Object.entries(row.schemas)) {
      const sides = topics.get(topic) ?? new Map<string, Announced[]>()
      topics.set(topic, sides.set(digest, [...(sides.get(digest) ?? []), row]))
    }
  }
  return [...topics]
    .filter(([, sides]) => sides.size > 1)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([topic, sides]) => ({ topic, sides: [...sides.values()].map(toSide) }))
}

function toSide(rows: readonly Announced[]): TopicClash['sides'][number] {
  return {
    services: [...new Set(rows.map(({ service }) => service))],
    workers: rows.map(({ id, host, pid }) => ({ id, host, pid })),
  }
}
