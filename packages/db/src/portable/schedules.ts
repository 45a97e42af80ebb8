import {
  type EnqueueOptions,
  isOncueError,
  type JobId,
  type NewJob,
  OncueError,
  prepareJob,
} from '@oncue/core'
import { readPolicy, type TopicPolicy, toInputError, topicSchema } from '@oncue/core/internal'
import { type ShownSchedule, WORKER_SILENT_MS } from '@oncue/core/wire'
import { z } from 'zod'
import type { Subscription } from '../store.ts'
import { jobIdsOf } from '../uuid.ts'
import { assertBy } from './audit.ts'
import { firstTick, parseCron, ticksToRun } from './cron.ts'
import { type Fragment, fieldsOf, q, raw, type Sql } from './sql.ts'

export type ScheduleRow = Omit<ShownSchedule, 'options' | 'nextRuns'> & {
  /** Of its jobs. */
  readonly options: EnqueueOptions
}

export type Schedule = Omit<ScheduleRow, 'service' | 'nextAt' | 'lastAt' | 'paused'> & {
  /** The service that declares it in code. */
  readonly service?: ScheduleRow['service'] | undefined
}

/** Cron. One job per tick, however many processes tick. */
export interface ScheduleStore {
  /**
   * Creates or changes one; the next tick is computed anew if pattern or zone changed. One in code changes none that
   * another service declared, unless no worker of that service lives: the returned row tells. One of people takes over
   * one in code only with `takeOver`: otherwise SCHEDULE_IN_CODE.
   */
  save(schedule: Schedule, options?: { readonly takeOver?: boolean | undefined }): Promise<ScheduleRow>
  list(): Promise<ScheduleRow[]>
  remove(name: string): Promise<void>
  /** Removes a schedule that this service declared in code, and no other. */
  withdraw(name: string, service: string): Promise<void>
  pause(name: string, by?: string): Promise<void>
  /** Ticks that were missed during the pause are not made up for. */
  resume(name: string, by?: string): Promise<void>
  /** Enqueues a job now, outside the plan. */
  runNow(name: string): Promise<JobId>
  /** Enqueues what is due, and says when the next tick is. */
  tick(): Promise<{ readonly enqueued: JobId[]; readonly nextAt: Date | null }>
  /** When the next tick is, by the store's clock. */
  next(): Promise<{ readonly nextAt: Date | null; readonly now: Date }>
  /** Calls back when the next tick may have changed. A hint: it can be missed, and on SQLite every commit gives it. */
  onChange(hear: () => void): Promise<Subscription>
}

/** What schedules need of their store. Wake-ups announce changes, under a name that no queue can have. */
export type ScheduleHost = {
  enqueue(jobs: readonly NewJob[]): Promise<JobId[]>
  wake(queues: readonly string[]): void
  onWake(queues: readonly string[], wake: () => void): Promise<Subscription>
}

const CHANGES = ['oncue:schedules']

/** Schedules are rows. A tick finds the due ones, enqueues their jobs and moves them on. Written once for both databases. */
export function createSchedules(sql: Sql, host: ScheduleHost): ScheduleStore {
  const newId = jobIdsOf(sql.runtime)
  const read = async (rest: Fragment) => {
    const rows = await sql.all<StoredSchedule>(q`select ${COLUMNS} from {schedules} ${rest}`)
    return rows.map((row) => readSchedule(sql, row))
  }

  async function find(name: string): Promise<ScheduleRow> {
    const [schedule] = await read(q`where name = ${name}`)
    if (!schedule) throw new OncueError('SCHEDULE_NOT_FOUND', `There is no schedule ${JSON.stringify(name)}`)
    return schedule
  }

  /** What a worker announced about the topic, for options that the schedule does not set. */
  async function policyOf(topic: string): Promise<TopicPolicy> {
    const [row] = await sql.all<{ policy: unknown }>(q`select policy from {topics} where topic = ${topic}`)
    return readPolicy(sql.json(row?.policy))
  }

  async function next(): Promise<{ nextAt: Date | null; now: Date }> {
    const [row] = await sql.all<{ next_at: unknown; now: unknown }>(
      q`select min(next_at) as next_at, ${sql.clock()} as now from {schedules} where paused_at is null`,
    )
    return { nextAt: sql.time(row?.next_at), now: sql.time(row?.now) ?? new Date(sql.runtime.now()) }
  }

  /** Returns the new job; null if another process enqueued it, or if its unique key is taken. */
  async function enqueueTick(schedule: ScheduleRow, tick: Date): Promise<JobId | null> {
    const job = toTickJob(schedule, tick, newId, await policyOf(schedule.topic))
    try {
      const [id] = await host.enqueue([job])
      return id === job.id ? id : null
    } catch (error) {
      // `onConflict: 'reject'` on a schedule means: skip the tick while the last job is still live.
      if (isOncueError(error, 'UNIQUE_KEY_LIVE')) return null
      throw error
    }
  }

  /**
   * First the jobs, then the move: if this process dies in between, the next one tries to make the same jobs,
   * whose keys are taken. A schedule is moved only if it was not moved or changed meanwhile.
   */
  async function tickOne(schedule: ScheduleRow, nextAt: Date, now: Date): Promise<JobId[]> {
    const ticks = parseCron(schedule.cron, schedule.timezone)
    const due = ticksToRun(ticks, nextAt, now, schedule.missed)
    const ids: JobId[] = []
    for (const tick of due) {
      const id = await enqueueTick(schedule, tick)
      if (id) ids.push(id)
    }
    const { name, cron, timezone } = schedule
    await sql.run(q`update {schedules} set next_at = ${ticks.next(now)}, last_at = ${due.at(-1) ?? schedule.lastAt}
      where name = ${name} and next_at = ${nextAt} and cron = ${cron} and timezone = ${timezone} and paused_at is null`)
    return ids
  }

  return {
    async save(schedule, { takeOver = false } = {}) {
      const { payload, options } = checkSchedule(schedule)
      const { name, cron, timezone, topic, missed, source, service = null } = schedule
      const now = await sql.now()
      await sql.run(q`insert into {schedules} as s
          (name, cron, timezone, topic, payload, options, missed, source, service, next_at, created, updated)
        values (${name}, ${cron}, ${timezone}, ${topic}, ${payload}, ${options}, ${missed}, ${source}, ${service},
          ${firstTick(cron, timezone, now)}, ${now}, ${now})
        on conflict (name) do update set
          cron = excluded.cron, timezone = excluded.timezone, topic = excluded.topic, payload = excluded.payload,
          options = excluded.options, missed = excluded.missed, source = excluded.source, service = excluded.service,
          updated = excluded.updated,
          next_at = case
            when s.paused_at is not null then null
            when s.cron = excluded.cron and s.timezone = excluded.timezone then coalesce(s.next_at, excluded.next_at)
            else excluded.next_at end
        where s.source = 'database' or excluded.source = 'database' and ${takeOver ? 1 : 0} = 1
          or excluded.source = 'code' and (s.service is null
          or s.service = excluded.service or not exists (
            select 1 from {announcements} a join {workers} w on w.id = a.worker
            where a.service = s.service and w.missing_since is null
              and w.last_beat > ${new Date(now.getTime() - WORKER_SILENT_MS)}))`)
      const saved = await find(name)
      if (source === 'database' && saved.source === 'code') throw inCode(saved)
      host.wake(CHANGES)
      return saved
    },

    list: () => read(q`order by name`),

    async remove(name) {
      const removed = await sql.run(q`delete from {schedules} where name = ${name}`)
      if (removed === 0) await find(name)
    },

    async withdraw(name, service) {
      await sql.run(q`delete from {schedules}
        where name = ${name} and source = 'code' and (service is null or service = ${service})`)
    },

    async pause(name, by) {
      assertBy(by)
      const now = await sql.now()
      const paused = await sql.run(q`update {schedules}
        set next_at = null, paused_at = ${now}, paused_by = ${by ?? null}, updated = ${now}
        where name = ${name} and paused_at is null`)
      // It was paused before: keep who paused it first.
      if (paused === 0) await find(name)
    },

    async resume(name) {
      for (;;) {
        const { cron, timezone, paused } = await find(name)
        if (!paused) return
        const now = await sql.now()
        const resumed = await sql.run(q`update {schedules}
          set next_at = ${firstTick(cron, timezone, now)}, paused_at = null, paused_by = null, updated = ${now}
          where name = ${name} and paused_at is not null and cron = ${cron} and timezone = ${timezone}`)
        if (resumed > 0) return host.wake(CHANGES)
      }
    },

    async runNow(name) {
      const schedule = await find(name)
      const [id] = await host.enqueue([toJob(schedule, newId, await policyOf(schedule.topic))])
      if (id === undefined) throw new OncueError('INTERNAL', 'The enqueue returned no id')
      return id
    },

    async tick() {
      const now = await sql.now()
      const due = await read(q`where next_at <= ${now} and paused_at is null order by next_at, name`)
      const enqueued: JobId[] = []
      const failures: unknown[] = []
      for (const schedule of due) {
        try {
          if (schedule.nextAt) enqueued.push(...(await tickOne(schedule, schedule.nextAt, now)))
        } catch (error) {
          // A schedule that was broken by hand must not stop the others.
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

function inCode({ name, service }: ScheduleRow): OncueError {
  const by = service === null ? '' : `, by ${service}`
  return new OncueError('SCHEDULE_IN_CODE', `The schedule ${JSON.stringify(name)} is declared in code${by}`)
}

const COLUMNS = raw(
  'name, cron, timezone, topic, payload, options, missed, source, service, next_at, last_at, paused_at, paused_by',
)

type StoredSchedule = { readonly paused_at: unknown; readonly paused_by: string | null }

function readSchedule(sql: Sql, { paused_at, paused_by: by, ...row }: StoredSchedule): ScheduleRow {
  const kinds = { payload: 'json', options: 'json', next_at: 'time', last_at: 'time' } as const
  const at = sql.time(paused_at)
  return { ...fieldsOf<Omit<ScheduleRow, 'paused'>>(sql, row, kinds), paused: at && { at, by } }
}

/**
 * Names are part of keys and URLs, so they follow the rule of topics. Cron, topic, payload and options have
 * their own checks.
 */
const scheduleSchema = z.strictObject({
  name: topicSchema,
  cron: z.unknown(),
  timezone: z.unknown(),
  topic: z.unknown(),
  payload: z.unknown(),
  options: z.looseObject({}),
  missed: z.enum(['skip', 'one', 'all']),
  source: z.enum(['code', 'database']),
  service: z.string().min(1).max(128).nullish(),
})

/** Options that each tick sets itself, or that can hold for one job only. */
const NOT_FOR_SCHEDULES = ['runAt', 'idempotencyKey', 'after'] as const

/** Refuses what would fail at the first tick, and returns payload and options as JSON text. */
function checkSchedule(schedule: Schedule): { readonly payload: string; readonly options: string } {
  const parsed = scheduleSchema.safeParse(schedule)
  if (!parsed.success) throw toInputError(parsed.error, 'schedule', schedule)
  for (const option of NOT_FOR_SCHEDULES) {
    if (schedule.options[option] === undefined) continue
    const message = `schedule.options.${option} cannot be set: it would be the same for every tick`
    throw new OncueError('INVALID_INPUT', message)
  }
  const { payload } = toJob(schedule)
  return { payload, options: JSON.stringify(schedule.options) }
}

function toJob({ topic, payload, options }: Schedule, newId?: () => JobId, policy?: TopicPolicy): NewJob {
  return prepareJob(topic, payload, options, policy, newId)
}

/**
 * The job of one tick. It is due at the tick itself, so that its handler knows which one it runs for
 * and its wait is measured from the plan. The key makes it one job, however many processes tick. No caller can name
 * it, so that an enqueue of the same topic cannot suppress a tick.
 */
function toTickJob(schedule: Schedule, tick: Date, newId: () => JobId, policy: TopicPolicy): NewJob {
  const job = toJob(schedule, newId, policy)
  return {
    ...job,
    runAt: new Date(tick.getTime() + job.delayMs),
    delayMs: 0,
    internalKey: `schedule:${schedule.name}:${tick.getTime()}`,
  }
}
