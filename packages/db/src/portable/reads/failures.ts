import type { JobError } from '@oncue/core'
import { TREND_PARTS } from '@oncue/core/wire'
import type { FailureFilter, FailureGroup } from '../../store.ts'
import { all, type Fragment, q, raw, type Sql, timeOf } from '../sql.ts'
import { inQueueAndTopic } from './counts.ts'
import { invalid } from './filter.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

type GroupRow = {
  readonly fingerprint: string
  readonly count: number
  readonly first_seen: unknown
  readonly last_seen: unknown
  readonly topics: unknown
  readonly queues: unknown
  /** Part → how many; those without any are missing. */
  readonly trend: unknown
  readonly was_before: number | boolean
  readonly sample_id: string
  readonly sample_error: unknown
}

/** A filter whose times are known. */
export type Failed = FailureFilter & {
  readonly since: Date
  readonly newSince: Date
  /** How long one part of the trend is. */
  readonly partMs: number
  readonly limit: number
}

export async function failures(sql: Sql, filter: FailureFilter = {}): Promise<FailureGroup[]> {
  const { limit = 50 } = filter
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw invalid('limit', 'must be from 1 to 1000')
  const now = (await sql.now()).getTime()
  const { since = new Date(now - DAY_MS), newSince = new Date(now - HOUR_MS) } = filter
  const partMs = Math.max(1, (now - since.getTime()) / TREND_PARTS)
  const failed = { ...filter, since, newSince, partMs, limit }
  const rows = await sql.walk<GroupRow>(failuresStatement(sql.dialect, failed))
  return rows.map((row) => ({
    fingerprint: row.fingerprint,
    count: row.count,
    firstSeen: timeOf(sql, row.first_seen),
    lastSeen: timeOf(sql, row.last_seen),
    topics: (sql.json(row.topics) as string[]).sort(),
    queues: (sql.json(row.queues) as string[]).sort(),
    isNew: !row.was_before,
    trend: trendOf(sql.json(row.trend) as Record<string, number>),
    sample: { jobId: row.sample_id, error: sql.json(row.sample_error) as JobError | null },
  }))
}

/** What failed this very moment belongs to the last part. */
function trendOf(counts: Readonly<Record<string, number>>): number[] {
  const trend = new Array<number>(TREND_PARTS).fill(0)
  for (const [part, count] of Object.entries(counts)) {
    const at = Math.min(Number(part), TREND_PARTS - 1)
    trend[at] = (trend[at] ?? 0) + count
  }
  return trend
}

/**
 * Reads what failed in the time asked for once, by history_failed, and counts it by everything that is told
 * apart; the groups and their trends are put together from these few counts. The sample is found in the same
 * index by the moment of the last failure. Whether a group is new is asked of history_fingerprint, which has the
 * oldest job first. Fingerprints break ties, so that the order is stable. Expressions where a column
 * would do keep plans from walking all failures there ever were, because another index has them in that order.
 */
export function failuresStatement(dialect: Sql['dialect'], filter: Failed): Fragment {
  const { fingerprint, since, newSince, partMs, limit, order } = filter
  const isPostgres = dialect === 'postgres'
  const list = raw(isPostgres ? 'json_agg' : 'json_group_array')
  const object = raw(isPostgres ? 'json_object_agg' : 'json_group_object')
  const by = (index: string) => raw(isPostgres ? '{history} h' : `{history} h indexed by {${index}}`)
  const part = isPostgres
    ? q`cast(floor(date_part('epoch', h.finished_at - ${since}::timestamptz) * 1000 / ${partMs}::float8) as integer)`
    : q`cast((h.finished_at - ${since}) / ${partMs} as integer)`
  const where = all([
    inQueueAndTopic(filter),
    ...(fingerprint === undefined ? [] : [q`h.fingerprint = ${fingerprint}`]),
  ])
  const first = raw(order === 'largest' ? 'count desc, last_seen desc' : 'last_seen desc')
  return q`with c as materialized (
      select coalesce(h.fingerprint, '') as fingerprint, h.topic, h.queue, ${part} as part, count(*) as count,
        min(h.finished_at) as first_seen, max(h.finished_at) as last_seen
      from ${by('history_failed')}
      where h.status = 'failed' and h.finished_at >= ${since} and ${where}
      group by coalesce(h.fingerprint, ''), h.topic, h.queue, part),
    g as materialized (
      select fingerprint, cast(sum(count) as bigint) as count, min(first_seen) as first_seen,
        max(last_seen) as last_seen, ${list}(distinct topic) as topics, ${list}(distinct queue) as queues
      from c where fingerprint <> '' group by fingerprint
      order by ${first}, fingerprint limit ${limit}),
    t as materialized (
      select fingerprint, ${object}(part, count) as trend from (
        select g.fingerprint, c.part, cast(sum(c.count) as bigint) as count
        from g join c on c.fingerprint = g.fingerprint group by g.fingerprint, c.part) parts
      group by fingerprint)
    select g.*, t.trend, s.id as sample_id, s.last_error as sample_error,
      g.first_seen < ${newSince} or (
        select 1 from ${by('history_fingerprint')}
        where h.status = 'failed' and h.fingerprint = g.fingerprint
          and h.created < ${newSince} and h.finished_at < ${newSince}
        order by h.created, h.id limit 1) is not null as was_before
    from g join t on t.fingerprint = g.fingerprint join {history} s on s.id = (
      select h.id from ${by('history_failed')}
      where h.status = 'failed' and h.finished_at = g.last_seen and coalesce(h.fingerprint, '') = g.fingerprint
        and ${where}
      order by cast(h.id as text) desc limit 1)
    order by ${first}, g.fingerprint`
}
