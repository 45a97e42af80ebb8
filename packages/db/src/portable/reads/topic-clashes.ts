import type { TopicClash } from '../../store.ts'
import { q, type Sql } from '../sql.ts'
import { LIVE_MS } from './workers.ts'

type Row = {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly service: string
  readonly schemas: unknown
}

/** Compares what the workers that live announced, topic by topic. */
export async function topicClashes(sql: Sql): Promise<TopicClash[]> {
  const since = new Date((await sql.now()).getTime() - LIVE_MS)
  const rows = await sql.all<Row>(q`select w.id, w.host, w.pid, a.service, a.schemas
    from {announcements} a join {workers} w on w.id = a.worker
    where w.missing_since is null and w.last_beat > ${since}
    order by a.service, w.started_at, w.id`)
  const topics = new Map<string, Map<string, Row[]>>()
  for (const row of rows) {
    for (const [topic, digest] of Object.entries(sql.json(row.schemas) as Record<string, string>)) {
      const sides = topics.get(topic) ?? new Map<string, Row[]>()
      topics.set(topic, sides.set(digest, [...(sides.get(digest) ?? []), row]))
    }
  }
  return [...topics]
    .filter(([, sides]) => sides.size > 1)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([topic, sides]) => ({ topic, sides: [...sides.values()].map(toSide) }))
}

function toSide(rows: readonly Row[]): TopicClash['sides'][number] {
  return {
    services: [...new Set(rows.map(({ service }) => service))],
    workers: rows.map(({ id, host, pid }) => ({ id, host, pid })),
  }
}
