import { isOncueError, type JobId, type NewJob, OncueError } from '@oncue/core'
import type { Subscription } from '../../store.ts'
import { jobIdsOf } from '../../uuid.ts'
import { assertBy } from '../by.ts'
import { LIVE_MS } from '../reads/workers.ts'
import type { PortableStatement, Sql } from '../sql.ts'
import { firstTick, parseCron } from './cron.ts'
import { ticksToRun } from './missed.ts'
import { checkSchedule, readSchedule, type StoredSchedule, toJob, toTickJob } from './rows.ts'
import type { ScheduleRow, ScheduleStore } from './types.ts'

/** What schedules need of their store. Its wake-ups tell of changes, under a name that no queue can have. */
export type ScheduleHost = {
  enqueue(jobs: readonly NewJob[]): Promise<JobId[]>
  wake(queues: readonly string[]): void
  onWake(queues: readonly string[], wake: () => void): Promise<Subscription>
}

const CHANGES = ['oncue:schedules']

/** Schedules are rows; whoever ticks them finds what is due and moves it on. Written once for both databases. */
export function createSchedules(sql: Sql, host: ScheduleHost): ScheduleStore {
  const newId = jobIdsOf(sql.runtime)
  const read = async (statement: PortableStatement) =>
    (await sql.all<StoredSchedule>(statement)).map((row) => readSchedule(sql, row))

  async function find(name: string): Promise<ScheduleRow> {
    const [schedule] = await read({ text: 'select * from {schedules} where name = ?', values: [name] })
    if (!schedule) throw new OncueError('SCHEDULE_NOT_FOUND', `There is no schedule ${JSON.stringify(name)}`)
    return schedule
  }

  async function next(): Promise<{ nextAt: Date | null; now: Date }> {
    const clock = sql.clock()
    const [row] = await sql.all<{ next_at: unknown; now: unknown }>({
      text: `select min(next_at) as next_at, ${clock.text} as now from {schedules} where paused_at is null`,
      values: clock.values,
    })
    return { nextAt: sql.time(row?.next_at), now: sql.time(row?.now) ?? new Date(sql.runtime.now()) }
  }

  /** Answers the new job; null when somebody made it before, or when its unique key is taken. */
  async function enqueueTick(schedule: ScheduleRow, tick: Date): Promise<JobId | null> {
    const job = toTickJob(schedule, tick, newId)
    try {
      const [id] = await host.enqueue([job])
      return id === job.id ? id : null
    } catch (error) {
      // `onConflict: 'reject'` on a schedule means: not while the last one is still there.
      if (isOncueError(error, 'UNIQUE_KEY_LIVE')) return null
      throw error
    }
  }

  /**
   * First the jobs, then the move: if this process dies in between, the next one makes the same jobs,
   * whose keys are taken. Moved only if nobody else has moved or changed it meanwhile.
   */
  async function tickOne(schedule: ScheduleRow, nextAt: Date, now: Date): Promise<JobId[]> {
    const ticks = parseCron(schedule.cron, schedule.timezone)
    const due = ticksToRun(ticks, nextAt, now, schedule.missed)
    const ids: JobId[] = []
    for (const tick of due) {
      const id = await enqueueTick(schedule, tick)
      if (id) ids.push(id)
    }
    await sql.run({
      text: `update {schedules} set next_at = ?, last_at = ?
        where name = ? and next_at = ? and cron = ? and timezone = ? and paused_at is null`,
      values: [
        ticks.next(now),
        due.at(-1) ?? schedule.lastAt,
        schedule.name,
        nextAt,
        schedule.cron,
        schedule.timezone,
      ],
    })
    return ids
  }

  return {
    async save(schedule) {
      const { payload, options } = checkSchedule(schedule)
      const { name, cron, timezone, topic, missed, source, service = null } = schedule
      const now = await sql.now()
      await sql.run({
        text: `insert into {schedules} as s
            (name, cron, timezone, topic, payload, options, missed, source, service, next_at, created, updated)
          values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          on conflict (name) do update set
            cron = excluded.cron, timezone = excluded.timezone, topic = excluded.topic, payload = excluded.payload,
            options = excluded.options, missed = excluded.missed, source = excluded.source, service = excluded.service,
            updated = excluded.updated,
            next_at = case
              when s.paused_at is not null then null
              when s.cron = excluded.cron and s.timezone = excluded.timezone then coalesce(s.next_at, excluded.next_at)
              else excluded.next_at end
          where excluded.source = 'database' or s.source = 'database' or s.service is null
            or s.service = excluded.service or not exists (
              select 1 from {announcements} a join {workers} w on w.id = a.worker
              where a.service = s.service and w.missing_since is null and w.last_beat > ?)`,
        values: [
          ...[name, cron, timezone, topic, payload, options, missed, source, service],
          ...[firstTick(cron, timezone, now), now, now, new Date(now.getTime() - LIVE_MS)],
        ],
      })
      host.wake(CHANGES)
      return find(name)
    },

    list: () => read({ text: 'select * from {schedules} order by name' }),

    async remove(name) {
      const removed = await sql.run({ text: 'delete from {schedules} where name = ?', values: [name] })
      if (removed === 0) await find(name)
    },

    async withdraw(name, service) {
      await sql.run({
        text: `delete from {schedules} where name = ? and source = 'code' and (service is null or service = ?)`,
        values: [name, service],
      })
    },

    async pause(name, by) {
      assertBy(by)
      const now = await sql.now()
      const paused = await sql.run({
        text: `update {schedules} set next_at = null, paused_at = ?, paused_by = ?, updated = ?
          where name = ? and paused_at is null`,
        values: [now, by ?? null, now, name],
      })
      // Paused before: the first to do so stays known.
      if (paused === 0) await find(name)
    },

    async resume(name) {
      for (;;) {
        const { cron, timezone, paused } = await find(name)
        if (!paused) return
        const now = await sql.now()
        const resumed = await sql.run({
          text: `update {schedules} set next_at = ?, paused_at = null, paused_by = null, updated = ?
            where name = ? and paused_at is not null and cron = ? and timezone = ?`,
          values: [firstTick(cron, timezone, now), now, name, cron, timezone],
        })
        if (resumed > 0) return host.wake(CHANGES)
      }
    },

    async runNow(name) {
      const [id] = await host.enqueue([toJob(await find(name), newId)])
      if (id === undefined) throw new OncueError('INTERNAL', 'The enqueue answered no id')
      return id
    },

    async tick() {
      const now = await sql.now()
      const due = await read({
        text: 'select * from {schedules} where next_at <= ? and paused_at is null order by next_at, name',
        values: [now],
      })
      const enqueued: JobId[] = []
      const failures: unknown[] = []
      for (const schedule of due) {
        try {
          if (schedule.nextAt) enqueued.push(...(await tickOne(schedule, schedule.nextAt, now)))
        } catch (error) {
          // A schedule that somebody broke by hand must not keep the others from ticking.
          if (isOncueError(error) && error.retryable) throw error
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
      return { enqueued, nextAt: (await next()).nextAt }
    },

    next,

    onChange: (hear) => host.onWake(CHANGES, hear),
  }
}
