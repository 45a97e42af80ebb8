import { createHash } from 'node:crypto'
import { assertQueue, assertTopic, encodeJson } from '@oncue/core/internal'
import type { AnnouncedBy, Store, TopicAnnouncement } from '../store.ts'
import { assertBy } from './by.ts'
import { createLimits } from './limits.ts'
import type { PortableStatement, Sql } from './sql.ts'

export type Admin = Pick<Store, 'pause' | 'resume' | 'limit' | 'announce'>

/** What people and workers tell the store about queues and topics. Written once for both databases. */
export function createAdmin(sql: Sql): Admin {
  return {
    async pause(queue, by) {
      assertQueue(queue)
      assertBy(by)
      await sql.run({
        // A second pause changes nothing: the first to do so stays known.
        text: `insert into {queues} as q (name, paused_at, paused_by) values (?, ?, ?)
          on conflict (name) do update set paused_at = excluded.paused_at, paused_by = excluded.paused_by
          where q.paused_at is null`,
        values: [queue, await sql.now(), by ?? null],
      })
    },

    async resume(queue) {
      assertQueue(queue)
      await sql.run({
        text: 'update {queues} set paused_at = null, paused_by = null where name = ? and paused_at is not null',
        values: [queue],
      })
    },

    limit: createLimits(sql),

    async announce(topics, by) {
      if (topics.length === 0) return
      for (const { topic } of topics) assertTopic(topic)
      const now = await sql.now()
      // In one order, so that two workers that start together cannot wait for each other.
      const sorted = [...topics].sort((a, b) => (a.topic < b.topic ? -1 : 1))
      await sql.run(
        ...sorted.map(
          ({ topic, input, output, policy }): PortableStatement => ({
            text: `insert into {topics} (topic, input, output, policy, announced) values (?, ?, ?, ?, ?)
              on conflict (topic) do update set
                input = excluded.input, output = excluded.output, policy = excluded.policy, announced = excluded.announced`,
            values: [topic, toJson(input), toJson(output), toJson(policy), now],
          }),
        ),
        ...(by ? announcement(sorted, by, now) : []),
      )
    },
  }
}

/** Longer than a worker takes from its announcement to its presence. */
const FORGOTTEN_MS = 3_600_000

/** Which schemas this worker has; those of workers that are gone are cleared away on the occasion. */
function announcement(
  topics: readonly TopicAnnouncement[],
  { worker, service }: AnnouncedBy,
  now: Date,
): PortableStatement[] {
  const schemas = Object.fromEntries(topics.map((topic) => [topic.topic, digestOf(topic)]))
  return [
    {
      text: `insert into {announcements} (worker, service, schemas, announced) values (?, ?, ?, ?)
        on conflict (worker) do update set
          service = excluded.service, schemas = excluded.schemas, announced = excluded.announced`,
      values: [worker, service, JSON.stringify(schemas), now],
    },
    {
      text: 'delete from {announcements} where announced < ? and worker not in (select id from {workers})',
      values: [new Date(now.getTime() - FORGOTTEN_MS)],
    },
  ]
}

/** The same for schemas that differ only in the order in which they were written. */
function digestOf({ input, output }: TopicAnnouncement): string {
  return createHash('sha256')
    .update(JSON.stringify([input, output], sortKeys))
    .digest('hex')
    .slice(0, 16)
}

function sortKeys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const toJson = (value: unknown) => encodeJson(value, 'payload')
