import type { JobError } from '@oncue/core'
import type { Sql } from '../sql.ts'
import type { FailureFilter, FailureGroup } from '../store.ts'
import { inQueueAndTopic } from './counts.ts'
import { invalid } from './filter.ts'
import { type Fragment, q, raw } from './fragment.ts'
import { timeOf } from './summary.ts'

const DAY_MS = 86_400_000

type GroupRow = {
  readonly fingerprint: string
  readonly count: number
  readonly first_seen: unknown
  readonly last_seen: unknown
  readonly topics: unknown
  readonly queues: unknown
  readonly sample_id: string
  readonly sample_error: unknown
}

export async function failures(sql: Sql, filter: FailureFilter): Promise<FailureGroup[]> {
  const { limit = 50 } = filter
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw invalid('limit', 'must be from 1 to 1000')
  const since = filter.since ?? new Date((await sql.now()).getTime() - DAY_MS)
  const rows = await sql.walk<GroupRow>(failuresStatement(sql.dialect, { ...filter, since, limit }))
  return rows.map((row) => ({
    fingerprint: row.fingerprint,
    count: row.count,
    firstSeen: timeOf(sql, row.first_seen),
    lastSeen: timeOf(sql, row.last_seen),
    topics: (sql.json(row.topics) as string[]).sort(),
    queues: (sql.json(row.queues) as string[]).sort(),
    sample: { jobId: row.sample_id, error: sql.json(row.sample_error) as JobError | null },
  }))
}

/**
 * Reads what failed in the time asked for, by history_failed, and groups it. The sample is the one job
 * at the end of that index whose moment and fingerprint the group has. Fingerprints break ties, so that
 * the answer is the same twice. They are grouped as an expression, so that no plan walks all failures
 * there ever were because another index has them in that order.
 */
export function failuresStatement(
  dialect: Sql['dialect'],
  filter: FailureFilter & { readonly since: Date; readonly limit: number },
): Fragment {
  const where = inQueueAndTopic(filter)
  const list = raw(dialect === 'postgres' ? 'json_agg' : 'json_group_array')
  const failed = raw(dialect === 'postgres' ? '{history} h' : '{history} h indexed by {history_failed}')
  return q`with g as materialized (
      select coalesce(fingerprint, '') as fingerprint, count(*) as count, min(finished_at) as first_seen, max(finished_at) as last_seen,
        ${list}(distinct topic) as topics, ${list}(distinct queue) as queues
      from ${failed}
      where status = 'failed' and finished_at >= ${filter.since} and ${where}
      group by coalesce(fingerprint, '')
      having coalesce(fingerprint, '') <> ''
      order by max(finished_at) desc, coalesce(fingerprint, '')
      limit ${filter.limit})
    select g.*, s.id as sample_id, s.last_error as sample_error
    from g join {history} s on s.id = (
      select h.id from ${failed}
      where h.status = 'failed' and h.finished_at = g.last_seen and h.fingerprint = g.fingerprint and ${where}
      order by h.id desc limit 1)
    order by g.last_seen desc, g.fingerprint`
}
