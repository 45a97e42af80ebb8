import { LIMITS, OncueError } from '@oncue/core'
import {
  assertOtherQueue,
  assertQueue,
  assertText,
  assertTopic,
  encodeJson,
  toInputError,
} from '@oncue/core/internal'
import { limitSchema, MAX_PAUSE_SECONDS } from '@oncue/core/wire'
import type { AnnouncedBy, Limit, LimitTarget, Store, TopicAnnouncement } from '../store.ts'
import { assertBy } from './audit.ts'
import { hashOf } from './reads/cursor.ts'
import { type Fragment, q, raw, type Sql } from './sql.ts'

export type Admin = Pick<Store, 'pause' | 'resume' | 'limit' | 'announce'>

const MAX_PAUSE_MS = MAX_PAUSE_SECONDS * 1_000

/** Settings of queues and topics, by people and workers. Written once for both databases. */
export function createAdmin(sql: Sql): Admin {
  return {
    async pause(queue, by, forMs) {
      assertQueue(queue)
      assertBy(by)
      if (forMs !== undefined && !(Number.isInteger(forMs) && forMs >= 1 && forMs <= MAX_PAUSE_MS))
        throw new OncueError('INVALID_INPUT', `forMs must be a whole number from 1 to ${MAX_PAUSE_MS}`)
      const now = await sql.now()
      const until = forMs === undefined ? null : new Date(now.getTime() + forMs)
      // A second pause changes only the end of the first, and then it is by the one who set that end.
      const isNew = q`(q.paused_at is null or q.paused_until <= ${now})`
      const isOther = q`q.paused_until is distinct from excluded.paused_until`
      await sql.run(q`insert into {queues} as q (name, paused_at, paused_by, paused_until)
        values (${queue}, ${now}, ${by ?? null}, ${until})
        on conflict (name) do update set
          paused_at = case when ${isNew} then excluded.paused_at else q.paused_at end,
          paused_by = case when ${isNew} or ${isOther} then excluded.paused_by else q.paused_by end,
          paused_until = excluded.paused_until`)
    },

    async resume(queue) {
      assertQueue(queue)
      await sql.run(q`update {queues} set paused_at = null, paused_by = null, paused_until = null
        where name = ${queue} and paused_at is not null`)
    },

    limit: createLimits(sql),

    async announce(topics, by) {
      if (topics.length === 0) return
      for (const announced of topics) assertAnnounced(announced)
      const now = await sql.now()
      // Sorted, so that two workers that start together do not deadlock.
      const sorted = [...topics].sort((a, b) => (a.topic < b.topic ? -1 : 1))
      await sql.run(
        ...sorted.map(
          ({
            topic,
            input,
            output,
            policy,
          }) => q`insert into {topics} (topic, input, output, policy, announced)
            values (${topic}, ${toJson(input)}, ${toJson(output)}, ${toJson(policy)}, ${now})
            on conflict (topic) do update set
              input = excluded.input, output = excluded.output, policy = excluded.policy, announced = excluded.announced`,
        ),
        ...(by ? announcement(sorted, by, now) : []),
      )
    },
  }
}

/** Refuses, when it is announced, a queue into which no job of this topic could be enqueued. */
function assertAnnounced({ topic, policy }: TopicAnnouncement): void {
  assertTopic(topic)
  const { queue } = policy as { readonly queue?: unknown }
  if (typeof queue === 'string') assertOtherQueue(queue, `queue of ${topic}`)
}

/** Longer than a worker takes from its announcement to its presence. */
const FORGOTTEN_MS = 3_600_000

/** The schemas that this worker has; those of workers that are gone are deleted with the same call. */
function announcement(
  topics: readonly TopicAnnouncement[],
  { worker, service }: AnnouncedBy,
  now: Date,
): Fragment[] {
  const schemas = Object.fromEntries(
    topics.map(({ topic, input, output }) => [topic, hashOf({ input, output })]),
  )
  const forgotten = new Date(now.getTime() - FORGOTTEN_MS)
  return [
    q`insert into {announcements} (worker, service, schemas, announced)
      values (${worker}, ${service}, ${JSON.stringify(schemas)}, ${now})
      on conflict (worker) do update set
        service = excluded.service, schemas = excluded.schemas, announced = excluded.announced`,
    q`delete from {announcements} where announced < ${forgotten} and worker not in (select id from {workers})`,
  ]
}

const toJson = (value: unknown) => encodeJson(value, 'payload')

type Columns = { readonly max: number | null; readonly count: number | null; readonly ms: number | null }

/**
 * Limits are rows of `slots`, which claims lock; `slot_runs` are counted against them. A new limit
 * replaces the old one as a whole.
 */
function createLimits(sql: Sql): Store['limit'] {
  // A locked row is being ended or claimed, and needs no slot.
  const skipLocked = raw(sql.dialect === 'postgres' ? 'for update skip locked' : '')

  return async (target, limit) => {
    const columns = toColumns(limit)
    const isLimited = columns.max !== null || columns.count !== null
    const { queue, concurrencyKey } = readTarget(target)
    if (queue !== undefined) await (isLimited ? limitQueue(queue, columns) : freeQueue(queue))
    else await limitKey(concurrencyKey, columns)
  }

  async function limitQueue(queue: string, columns: Columns): Promise<void> {
    const now = sql.clock()
    const slot = `q:${queue}`
    // Running jobs count. A run that ends at this moment gives its slot back when the first claim finds none free.
    const count = q`insert into {slot_runs} (key, job_id, run, taken, until)
      select 'q:' || queue, id, run, ${now}, ${now} from {jobs} where queue = ${queue} and status = 'processing'
      on conflict (job_id, key) do nothing`
    await sql.run(writeSlot(slot, columns), count)
    if (sql.dialect === 'postgres') {
      await sql.claimsInFlight()
      await sql.run(q`update {slots} set since = null where key = ${slot}`, count)
    }
  }

  async function freeQueue(queue: string): Promise<void> {
    const slot = `q:${queue}`
    // In this order: the slot is the lock, and no claim adds runs once we hold it.
    await sql.run(q`delete from {slots} where key = ${slot}`, q`delete from {slot_runs} where key = ${slot}`)
  }

  /**
   * Promotes throttled jobs of the key, as far as there is room, and those that an old rate delayed:
   * the claim checks the new rate. (A job that crashed waits for its own reason.)
   */
  async function limitKey(key: string, columns: Columns): Promise<void> {
    const now = await sql.now()
    const slot = `k:${key}`
    const held = q`concurrency_key = ${key} and status = 'pending' and visible_at is null`
    await sql.run(
      writeSlot(slot, columns),
      q`update {slots} set waiting = ${true} where key = ${slot}`,
      q`with put_off as (
          select id from {jobs} where concurrency_key = ${key} and status = 'pending'
            and visible_at > ${now} and run_at <= ${now} and crashes = 0 ${skipLocked}
        )
        update {jobs} set visible_at = null where id in (select id from put_off)`,
      q`with chosen as (
          select id from {jobs} where ${held} order by priority desc, run_at, id
          limit (
            select case when free < 0 then 0 else free end from (
              select coalesce(s.max_running, j.concurrency_limit, 1)
                - (select count(*) from {slot_runs} r where r.key = s.key) as free
              from {slots} s left join (
                select concurrency_limit from {jobs} where ${held} order by priority desc, run_at, id limit 1
              ) j on true
              where s.key = ${slot}
            ) room
          ) ${skipLocked}
        )
        update {jobs} set visible_at = ${now} where id in (select id from chosen)`,
    )
  }
}

function writeSlot(key: string, { max, count, ms }: Columns): Fragment {
  return q`insert into {slots} (key, max_running, rate_count, rate_ms) values (${key}, ${max}, ${count}, ${ms})
    on conflict (key) do update set
      max_running = excluded.max_running, rate_count = excluded.rate_count, rate_ms = excluded.rate_ms, since = null`
}

function toColumns(limit: Limit | null): Columns {
  const parsed = limitSchema.nullable().safeParse(limit)
  if (!parsed.success) throw toInputError(parsed.error, 'limit', limit)
  const { maxRunning, rate } = parsed.data ?? {}
  return { max: maxRunning ?? null, count: rate?.count ?? null, ms: rate?.intervalMs ?? null }
}

function readTarget(
  target: LimitTarget,
): { queue: string; concurrencyKey?: never } | { queue?: never; concurrencyKey: string } {
  if ('queue' in target && !('concurrencyKey' in target)) {
    assertQueue(target.queue)
    return { queue: target.queue }
  }
  const { concurrencyKey } = target
  if (
    'queue' in target ||
    typeof concurrencyKey !== 'string' ||
    concurrencyKey === '' ||
    concurrencyKey.length > LIMITS.keyLength
  ) {
    const message = `A limit needs either a queue or a concurrencyKey of 1 to ${LIMITS.keyLength} characters`
    throw new OncueError('INVALID_INPUT', message)
  }
  assertText(concurrencyKey, 'concurrencyKey')
  return { concurrencyKey }
}
