import type { ClaimRequest, Limit, QueueOverview } from '../../store.ts'
import { type Fragment, list, q, raw, readAll, type Sql } from '../sql.ts'
import { isIn } from './filter.ts'

const NO_JOBS = {
  waiting: 0,
  scheduled: 0,
  running: 0,
  suspended: 0,
  blocked: 0,
  throttled: 0,
  oldestWaiting: null,
}

type Jobs = Pick<QueueOverview, 'queue' | keyof typeof NO_JOBS>
type Settings = Pick<QueueOverview, 'ageingMs'> & {
  name: string
  pausedAt: Date | null
  pausedBy: string | null
  pausedUntil: Date | null
}
type Slot = { key: string; maxRunning: number | null; count: number | null; intervalMs: number | null }

/** Every queue that has jobs, had jobs, or is configured. */
export async function queues(sql: Sql): Promise<QueueOverview[]> {
  // One row that is evaluated once, instead of a separate statement.
  const clock = q`(select ${sql.clock()} as now limit 1) c`
  const [live, past, settings, slots] = await Promise.all([
    readAll<Jobs>(
      sql,
      q`select queue,
        count(*) filter (where status = 'pending' and visible_at <= c.now) as waiting,
        count(*) filter (where status = 'pending' and visible_at > c.now and not (waits is not null and run_at > c.now))
          as scheduled,
        count(*) filter (where status = 'processing') as running,
        count(*) filter (where ${isIn('suspended', '', raw('c.now'))}) as suspended,
        count(*) filter (where ${isIn('blocked', '', raw('c.now'))}) as blocked,
        count(*) filter (where status = 'pending' and visible_at is null) as throttled,
        min(visible_at) filter (where status = 'pending' and visible_at <= c.now) as oldest_waiting
      from {jobs} cross join ${clock} group by queue`,
      { oldest_waiting: 'time' },
    ),
    sql.all<{ queue: string }>(q`select queue from {totals} union select queue from {stat_deltas}`),
    readAll<Settings>(
      sql,
      q`select name, ageing_ms, case when ${isPaused(q`c.now`)} then paused_at end as paused_at, paused_by, paused_until
        from {queues} p cross join ${clock}`,
      { paused_at: 'time', paused_until: 'time' },
    ),
    readAll<Slot>(
      sql,
      q`select key, max_running, rate_count as count, rate_ms as interval_ms from {slots} where key like 'q:%'`,
    ),
  ])
  const jobsOf = new Map(live.map((jobs) => [jobs.queue, jobs]))
  const settingsOf = new Map(settings.map((row) => [row.name, row]))
  const slotOf = new Map(slots.map((row) => [row.key.slice(2), row]))
  const names = [...jobsOf.keys(), ...past.map((row) => row.queue), ...settingsOf.keys(), ...slotOf.keys()]

  return [...new Set(names)].sort().map((queue) => {
    const {
      pausedAt = null,
      pausedBy = null,
      pausedUntil = null,
      ageingMs = null,
    } = settingsOf.get(queue) ?? {}
    const paused = pausedAt && { at: pausedAt, by: pausedBy, until: pausedUntil }
    return { ...NO_JOBS, ...jobsOf.get(queue), queue, paused, ageingMs, limit: limitOf(slotOf.get(queue)) }
  })
}

const isPaused = (now: Fragment) =>
  q`p.paused_at is not null and (p.paused_until is null or p.paused_until > ${now})`

function limitOf({ maxRunning, count, intervalMs }: Partial<Slot> = {}): Limit | null {
  const rate = count && intervalMs ? { count, intervalMs } : null
  return maxRunning == null && rate === null ? null : { maxRunning: maxRunning ?? null, rate }
}

const RUNNING = raw('(select count(*) from {slot_runs} r where r.key = s.key)')

/**
 * Whether a claim would take a due job if only its rate allowed it. A crashed job waits for its own reason,
 * and so does one whose queue or key is at its limit.
 */
export async function throttled(
  sql: Sql,
  { queues, topics }: Pick<ClaimRequest, 'queues' | 'topics'>,
): Promise<boolean> {
  const now = await sql.now()
  const due = q`j.status = 'pending' and j.run_at <= ${now} and ${oneOf('j.queue', queues)}
    and ${topics ? oneOf('j.topic', topics) : q`1 = 1`}
    and not exists (select 1 from {queues} p where p.name = j.queue and ${isPaused(q`${now}`)})`
  // Two partial indexes hold the jobs of a key: throttled ones, and the others.
  const ofKey = (visible: string): Fragment =>
    q`select 1 from {jobs} j where j.concurrency_key = substr(s.key, 3) and j.crashes = 0
      and (s.max_running is not null or j.concurrency_limit is null or ${RUNNING} < j.concurrency_limit) and ${due}
      and ${raw(visible)}`
  const rows = await sql.all(q`select 1 as yes from {slots} s where s.rate_count is not null
    and (s.max_running is null or ${RUNNING} < s.max_running) and (
      exists (select 1 from {jobs} j where s.key = 'q:' || j.queue and j.visible_at <= ${now} and ${due})
      or s.key like 'k:%' and (exists (${ofKey('j.visible_at is null')}) or exists (${ofKey('j.visible_at is not null')}))
    ) limit 1`)
  return rows.length > 0
}

function oneOf(column: 'j.queue' | 'j.topic', names: readonly string[]): Fragment {
  return names.length === 0 ? q`1 = 0` : q`${raw(column)} in (${list(names)})`
}
