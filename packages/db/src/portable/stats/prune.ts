import { FINISHED_STATUSES } from '@oncue/core'
import type { PruneRule } from '../../store.ts'
import { counted } from '../reads/counts.ts'
import { invalid } from '../reads/filter.ts'
import { q, raw } from '../reads/fragment.ts'
import type { Sql } from '../sql.ts'

/** Removes up to `limit` jobs of one queue and topic, oldest first, with all that belongs to them. */
type PruneOne = (queue: string, topic: string, limit: number) => Promise<number>

/**
 * One batch: queue by queue and topic by topic, because that is how history is indexed. Those that hold
 * no such job are known from the counters and not looked at.
 */
export async function prune(sql: Sql, rule: PruneRule, pruneOne: PruneOne): Promise<number> {
  const { status, finishedBefore, limit = 1_000 } = rule
  if (!FINISHED_STATUSES.includes(status)) throw invalid('status', 'must be that of a finished job')
  if (!Number.isInteger(limit) || limit < 1) throw invalid('limit', 'must be a whole number from 1')
  if (Number.isNaN(finishedBefore.getTime())) throw invalid('finishedBefore', 'is no valid date')
  const pairs = await sql.all<{ queue: string; topic: string }>(
    q`select queue, topic from ${counted(raw('1 = 1'))} c
      group by queue, topic having sum(${raw(status)}) > 0 order by queue, topic`,
  )
  let pruned = 0
  for (const { queue, topic } of pairs) {
    if (pruned >= limit) break
    pruned += await pruneOne(queue, topic, limit - pruned)
  }
  return pruned
}
