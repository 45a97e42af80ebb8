import type { FilterStatus } from '@oncue/core/wire'
import type { JobFilter, JobStats } from '../../store.ts'
import { all, type Fragment, join, q, raw, type Sql } from '../sql.ts'
import { isIn, WAITING_STATES } from './filter.ts'

export type QueueAndTopic = Pick<JobFilter, 'queue' | 'topic'>

type Counts = Record<FilterStatus, number> & { readonly runs: number; readonly run_ms: number }

/** `queue` and `topic` are columns of every table that counts jobs. */
export function inQueueAndTopic({ queue, topic }: QueueAndTopic): Fragment {
  return all([
    ...(queue === undefined ? [] : [q`queue = ${queue}`]),
    ...(topic === undefined ? [] : [q`topic = ${topic}`]),
  ])
}

/** How many jobs history holds, from counters: rolled up already, or not yet. */
export function counted(where: Fragment): Fragment {
  return q`(
    select queue, topic, completed, failed, cancelled, runs, run_ms from {totals} where ${where}
    union all
    select queue, topic, completed, failed, cancelled, length(runs), run_ms from {stat_deltas} where ${where})`
}

/**
 * How many jobs there are in each state, of one moment, because it is one statement. With `liveUpTo`, it reads no more
 * live jobs than that, whatever their queue and topic: if there are more, `isExact` is false, and the counts of live
 * jobs are lower bounds.
 */
export async function countJobs(
  sql: Sql,
  filter: QueueAndTopic,
  liveUpTo?: number,
): Promise<Counts & { readonly isExact: boolean }> {
  const where = inQueueAndTopic(filter)
  const isAll = liveUpTo === undefined
  const live = q`(select queue, topic, status, waits, run_at, retries, crashes from {jobs}
    ${isAll ? q`where ${where}` : q`limit ${liveUpTo + 1}`})`
  const count = (state: Fragment, name: string) =>
    q`count(*) filter (where ${all([...(isAll ? [] : [where]), state])}) as ${raw(name)}`
  const states = WAITING_STATES.map((state) => count(isIn(state, '', raw('c.now')), state))
  const sum = (column: string) => `cast(coalesce(sum(${column}), 0) as bigint) as ${column}`
  const statement = q`select * from
    (select count(*) as live_read, ${count(raw(`status = 'processing'`), 'processing')}, ${join(states, ', ')}
     from ${live} j cross join (select ${sql.clock()} as now limit 1) c) live,
    (select ${raw(['completed', 'failed', 'cancelled', 'runs', 'run_ms'].map(sum).join(', '))}
     from ${counted(where)} c) finished`
  const [row] = await sql.all<Counts & { live_read: number }>(statement)
  const { live_read, ...counts } = row ?? NONE
  return { ...counts, isExact: isAll || live_read <= liveUpTo }
}

const NONE = {
  ...{ blocked: 0, pending: 0, waiting: 0, scheduled: 0, retrying: 0, suspended: 0, processing: 0 },
  ...{ completed: 0, failed: 0, cancelled: 0, runs: 0, run_ms: 0, live_read: 0 },
}

export async function stats(sql: Sql, filter: QueueAndTopic = {}): Promise<JobStats> {
  const { runs, run_ms, isExact, ...counts } = await countJobs(sql, filter)
  const ended = counts.completed + counts.failed
  return {
    ...counts,
    successRate: ended === 0 ? 1 : counts.completed / ended,
    averageRunMs: runs === 0 ? 0 : run_ms / runs,
  }
}
