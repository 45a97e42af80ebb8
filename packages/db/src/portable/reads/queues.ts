import type { ClaimRequest, Limit, QueueOverview } from '../../store.ts'
import { type Fragment, join, q, raw, type Sql } from '../sql.ts'

type LiveRow = {
  readonly queue: string
  readonly waiting: number
  readonly scheduled: number
  readonly running: number
  readonly blocked: number
  readonly throttled: number
  readonly oldest: unknown
}
type SettingsRow = {
  readonly name: string
  readonly paused_at: unknown
  readonly paused_by: string | null
  readonly ageing_ms: number | null
}
type SlotRow = {
  readonly key: string
  readonly max_running: number | null
  readonly rate_count: number | null
  readonly rate_ms: number | null
}

/** Every queue that has jobs, had jobs, or is configured. */
export async function queues(sql: Sql): Promise<QueueOverview[]> {
  // One row that is evaluated once, and no statement of its own.
  const clock = q`(select ${sql.clock()} as now limit 1) c`
  const [live, past, settings, slots] = await Promise.all([
    sql.all<LiveRow>(q`select queue,
        count(*) filter (where status = 'pending' and visible_at <= c.now) as waiting,
        count(*) filter (where status = 'pending' and visible_at > c.now) as scheduled,
        count(*) filter (where status = 'processing') as running,
        count(*) filter (where status = 'blocked') as blocked,
        count(*) filter (where status = 'pending' and visible_at is null) as throttled,
        min(visible_at) filter (where status = 'pending' and visible_at <= c.now) as oldest
      from {jobs} cross join ${clock} group by queue`),
    sql.all<{ queue: string }>(q`select queue from {totals} union select queue from {stat_deltas}`),
    sql.all<SettingsRow>(q`select name, paused_at, paused_by, ageing_ms from {queues}`),
    sql.all<SlotRow>(q`select key, max_running, rate_count, rate_ms from {slots} where key like 'q:%'`),
  ])
  const jobsOf = new Map(live.map((row) => [row.queue, row]))
  const settingsOf = new Map(settings.map((row) => [row.name, row]))
  const slotOf = new Map(slots.map((row) => [row.key.slice(2), row]))
  const names = [...jobsOf.keys(), ...past.map((row) => row.queue), ...settingsOf.keys(), ...slotOf.keys()]

  return [...new Set(names)].sort().map((queue) => {
    const jobs = jobsOf.get(queue)
    const set = settingsOf.get(queue)
    const pausedAt = sql.time(set?.paused_at)
    return {
      queue,
      waiting: jobs?.waiting ?? 0,
      scheduled: jobs?.scheduled ?? 0,
      running: jobs?.running ?? 0,
      blocked: jobs?.blocked ?? 0,
      throttled: jobs?.throttled ?? 0,
      oldestWaiting: sql.time(jobs?.oldest) ?? null,
      paused: pausedAt ? { at: pausedAt, by: set?.paused_by ?? null } : null,
      ageingMs: set?.ageing_ms ?? null,
      limit: limitOf(slotOf.get(queue)),
    }
  })
}

function limitOf(slot: SlotRow | undefined): Limit | null {
  const { max_running: maxRunning = null, rate_count: count = null, rate_ms: intervalMs = null } = slot ?? {}
  const rate = count !== null && intervalMs !== null ? { count, intervalMs } : null
  return maxRunning === null && rate === null ? null : { maxRunning, rate }
}

const RUNNING = raw('(select count(*) from {slot_runs} r where r.key = s.key)')

/**
 * Whether a claim would take a job that is due, if only its rate allowed it. A crashed job waits for its own reason,
 * and so does one whose queue or key runs as many as it may.
 */
export async function throttled(
  sql: Sql,
  { queues, topics }: Pick<ClaimRequest, 'queues' | 'topics'>,
): Promise<boolean> {
  const now = await sql.now()
  const due = q`j.status = 'pending' and j.run_at <= ${now} and ${oneOf('j.queue', queues)}
    and ${topics ? oneOf('j.topic', topics) : q`1 = 1`}
    and not exists (select 1 from {queues} p where p.name = j.queue and p.paused_at is not null)`
  // Two partial indexes hold the jobs of a key: throttled ones, and the others.
  const ofKey = (visible: string): Fragment => {
    const found = q`select 1 from {jobs} j where j.concurrency_key = substr(s.key, 3) and j.crashes = 0
      and (s.max_running is not null or j.concurrency_limit is null or ${RUNNING} < j.concurrency_limit) and ${due}`
    return { ...found, text: `${found.text} and ${visible}` }
  }
  const rows = await sql.all(q`select 1 as yes from {slots} s where s.rate_count is not null
    and (s.max_running is null or ${RUNNING} < s.max_running) and (
      exists (select 1 from {jobs} j where s.key = 'q:' || j.queue and j.visible_at <= ${now} and ${due})
      or s.key like 'k:%' and (exists (${ofKey('j.visible_at is null')}) or exists (${ofKey('j.visible_at is not null')}))
    ) limit 1`)
  return rows.length > 0
}

function oneOf(column: 'j.queue' | 'j.topic', names: readonly string[]): Fragment {
  if (names.length === 0) return q`1 = 0`
  const list = join(
    names.map((name) => q`${name}`),
    ', ',
  )
  return { text: `${column} in (${list.text})`, values: list.values }
}
