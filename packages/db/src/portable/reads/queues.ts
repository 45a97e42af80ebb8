import type { Limit, QueueOverview } from '../../store.ts'
import { q, type Sql } from '../sql.ts'

type LiveRow = {
  readonly queue: string
  readonly waiting: number
  readonly scheduled: number
  readonly running: number
  readonly blocked: number
  readonly held: number
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
  const now = await sql.now()
  const [live, past, settings, slots] = await Promise.all([
    sql.all<LiveRow>(q`select queue,
        count(*) filter (where status = 'pending' and visible_at <= ${now}) as waiting,
        count(*) filter (where status = 'pending' and visible_at > ${now}) as scheduled,
        count(*) filter (where status = 'processing') as running,
        count(*) filter (where status = 'blocked') as blocked,
        count(*) filter (where status = 'pending' and visible_at is null) as held,
        min(visible_at) filter (where status = 'pending' and visible_at <= ${now}) as oldest
      from {jobs} group by queue`),
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
      held: jobs?.held ?? 0,
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
