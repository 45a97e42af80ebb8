import type { JobId, JobStatus } from '@oncue/core'
import { type Explanation, type WaitReason, WORKER_SILENT_MS } from '@oncue/core/wire'
import { isUuid } from '../../uuid.ts'
import { type Fragment, join, q, readAll, type Sql, timeOf } from '../sql.ts'
import { parentsOf } from './family.ts'
import { glance } from './jobs.ts'
import { series } from './series.ts'

/** Jobs ahead are counted up to here: more than this many are "over 10,000". */
export const MAX_AHEAD = 10_000
/** Priorities above the job's own that are looked at. */
const MAX_LEVELS = 100
export const MINUTE_MS = 60_000
/** Throughput is that of the last 5 min, the current one included, as on the queue's page. */
const RECENT_MS = 4 * MINUTE_MS

type JobRow = {
  readonly queue: string
  readonly topic: string
  readonly status: JobStatus
  readonly priority: number
  readonly run_at: unknown
  readonly visible_at: unknown
  readonly retries: number
  readonly max_retries: number
  readonly crashes: number
  readonly deps_left: number
  readonly concurrency_key: string | null
  readonly concurrency_limit: number | null
}
type QueueRow = {
  readonly paused_at: unknown
  readonly paused_by: string | null
  readonly paused_until: unknown
  readonly ageing_ms: number | null
}
type SlotRow = {
  readonly key: string
  readonly max_running: number | null
  readonly rate_count: number | null
  readonly rate_ms: number | null
  readonly starts: unknown
  readonly running: number
}
type LiveWorker = {
  readonly id: string
  readonly queues: readonly string[]
  /** By topic. Null: it announced nothing. */
  readonly schemas: object | null
}

/** Why a job waits: everything that keeps it from running now, and its position. Null: there is no such job. */
export async function explain(sql: Sql, id: JobId): Promise<Explanation | null> {
  if (!isUuid(id)) return null
  const [job] =
    await sql.all<JobRow>(q`select queue, topic, cast(status as text) as status, priority, run_at, visible_at,
      retries, max_retries, crashes, deps_left, concurrency_key, concurrency_limit
    from {jobs} where id = ${id}`)
  if (!job) {
    const finished = (await glance(sql, [id])).get(id)
    return finished ? { id, status: finished.status, reasons: [], position: null, waitsFor: [] } : null
  }
  const { status } = job
  if (status === 'processing') return { id, status, reasons: [], position: null, waitsFor: [] }
  const now = await sql.now()
  const isDue = status === 'pending' && job.visible_at !== null && timeOf(sql, job.visible_at) <= now
  const [settings, slots, workers, waitsFor, ahead, perMinute] = await Promise.all([
    readSettings(sql, job.queue),
    readSlots(sql, job),
    readWorkers(sql, now),
    status === 'blocked' ? parentsOf(sql, id) : [],
    isDue ? countAhead(sql, id, job, now) : null,
    isDue ? throughput(sql, job.queue, now) : 0,
  ])
  const reasons = [
    ...waitsItself(sql, job, slots, now),
    ...waitsForQueue(sql, job, settings, now),
    ...waitsForWorker(job, workers),
    ...(status === 'pending' ? waitsForSlot(sql, job, slots, now) : []),
  ]
  if (ahead === null) return { id, status, reasons, position: null, waitsFor }
  const isExact = ahead <= MAX_AHEAD && !settings?.ageing_ms
  // While something else stops the queue, an estimate would be made up.
  const aboutMs = reasons.length > 0 || perMinute === 0 ? null : ((ahead + 1) / perMinute) * MINUTE_MS
  const position = {
    ahead: Math.min(ahead, MAX_AHEAD),
    isExact,
    aboutMs: aboutMs === null ? null : Math.round(aboutMs),
  }
  // A line that no worker serves does not move.
  const isServed = !reasons.some(({ kind }) => kind === 'no_worker' || kind === 'unknown_topic')
  return { id, status, reasons: [...reasons, ...(isServed ? [inLine(position)] : [])], position, waitsFor }
}

function waitsItself(sql: Sql, job: JobRow, slots: readonly SlotRow[], now: Date): WaitReason[] {
  const { status, retries, max_retries, crashes, deps_left } = job
  if (status === 'blocked') {
    const text = `Waits for ${deps_left === 1 ? '1 other job' : `${number(deps_left)} other jobs`}`
    return [{ kind: 'parents', text, until: null }]
  }
  const until = sql.time(job.visible_at)
  if (until === null || until <= now) return []
  const later = inWords(until.getTime() - now.getTime())
  const isDue = timeOf(sql, job.run_at) <= now
  const key = job.concurrency_key
  // For a rate, the time at which the next start is allowed.
  const rate = slots.find((slot) => slot.key === `k:${key}` && slot.rate_count !== null)
  if (isDue && rate && crashes === 0) return [rateReason(rate, until, now)]
  if (crashes > 0 && isDue)
    return [{ kind: 'back_off', text: `Backs off after a crash: next try in ${later}`, until }]
  if (retries > 0) {
    const text = `Backs off after a failed run: retry ${number(retries)} of ${number(max_retries)} in ${later}`
    return [{ kind: 'back_off', text, until }]
  }
  return [{ kind: 'scheduled', text: `Scheduled: due in ${later}`, until }]
}

export function waitsForQueue(
  sql: Sql,
  { queue }: Pick<JobRow, 'queue'>,
  settings: QueueRow | undefined,
  now: Date,
): WaitReason[] {
  const until = sql.time(settings?.paused_until)
  if (!settings || sql.time(settings.paused_at) === null || (until && until <= now)) return []
  const by = settings.paused_by === null ? '' : ` by ${settings.paused_by}`
  const text = until
    ? `Queue ${queue} is paused${by}, for another ${inWords(until.getTime() - now.getTime())}`
    : `Queue ${queue} was paused${by}, no end set`
  return [{ kind: 'paused', text, until }]
}

export function waitsForWorker(
  { queue, topic }: Pick<JobRow, 'queue' | 'topic'>,
  workers: readonly LiveWorker[],
): WaitReason[] {
  const serving = workers.filter(({ queues }) => queues.includes(queue))
  if (serving.length === 0)
    return [{ kind: 'no_worker', text: `No live worker serves queue ${queue}`, until: null }]
  // A worker that announced nothing takes every topic.
  const isKnown = serving.some(({ schemas }) => schemas === null || Object.hasOwn(schemas, topic))
  const text = `No live worker of queue ${queue} knows topic ${topic}`
  return isKnown ? [] : [{ kind: 'unknown_topic', text, until: null }]
}

function waitsForSlot(sql: Sql, job: JobRow, slots: readonly SlotRow[], now: Date): WaitReason[] {
  const isThrottled = job.visible_at === null
  if (!isThrottled && timeOf(sql, job.visible_at) > now) return []
  const reasons = slots.flatMap((slot) => waitsForLimit(sql, job, slot, now))
  if (!isThrottled || reasons.length > 0) return reasons
  const text = `Waits for a slot of concurrency key ${job.concurrency_key}`
  return [{ kind: 'concurrency_key', text, until: null }]
}

/** What the limit of a queue or a concurrency key keeps from starting. */
export function waitsForLimit(
  sql: Sql,
  job: Pick<JobRow, 'queue' | 'concurrency_limit'>,
  slot: SlotRow,
  now: Date,
): WaitReason[] {
  const reasons: WaitReason[] = []
  const isKey = slot.key.startsWith('k:')
  const max = slot.max_running ?? (isKey ? job.concurrency_limit : null)
  if (max !== null && slot.running >= max) {
    const running = `${number(slot.running)} of ${number(max)} running`
    reasons.push(
      isKey
        ? {
            kind: 'concurrency_key',
            text: `Concurrency key ${slot.key.slice(2)} is full: ${running}`,
            until: null,
          }
        : { kind: 'queue_limit', text: `Queue ${job.queue} is at its limit: ${running}`, until: null },
    )
  }
  const free = nextStart(sql, slot, now)
  if (free) reasons.push(rateReason(slot, free, now))
  return reasons
}

/** When the rate of a slot allows the next start; null: now. */
function nextStart(sql: Sql, { rate_count, rate_ms, starts }: SlotRow, now: Date): Date | null {
  if (rate_count === null || rate_ms === null) return null
  const ms = now.getTime()
  const recent = ((sql.json(starts) ?? []) as (number | string)[])
    .map(Number)
    .filter((start) => start > ms - rate_ms && start <= ms + rate_ms)
    .sort((a, b) => a - b)
  const frees = recent.at(-rate_count)
  return recent.length < rate_count || frees === undefined ? null : new Date(frees + rate_ms)
}

function rateReason({ key, rate_count, rate_ms }: SlotRow, until: Date, now: Date): WaitReason {
  const what = key.startsWith('k:') ? `concurrency key ${key.slice(2)}` : `queue ${key.slice(2)}`
  const starts = rate_count === 1 ? '1 start' : `${number(rate_count ?? 0)} starts`
  const rate = `${starts} per ${inWords(rate_ms ?? 0)}`
  const text = `Rate limit of ${what}: ${rate}, next in ${inWords(until.getTime() - now.getTime())}`
  return { kind: 'rate_limit', text, until }
}

function inLine({ ahead, isExact, aboutMs }: NonNullable<Explanation['position']>): WaitReason {
  const when = aboutMs === null ? '' : `, about ${inWords(aboutMs)}`
  const over = ahead >= MAX_AHEAD && !isExact
  const place = over ? `Over ${number(ahead)} jobs are ahead` : ahead === 0 ? 'Next in line' : nth(ahead + 1)
  return { kind: 'in_line', text: `${isExact || over ? '' : 'About: '}${place}${when}`, until: null }
}

export async function readSettings(sql: Sql, queue: string): Promise<QueueRow | undefined> {
  const [row] = await sql.all<QueueRow>(q`select paused_at, paused_by, paused_until, ageing_ms from {queues}
      where name = ${queue}`)
  return row
}

export function readSlots(sql: Sql, job: Pick<JobRow, 'queue' | 'concurrency_key'>): Promise<SlotRow[]> {
  const keys = [`q:${job.queue}`, ...(job.concurrency_key === null ? [] : [`k:${job.concurrency_key}`])]
  const list = join(
    keys.map((key) => q`${key}`),
    ', ',
  )
  return sql.all<SlotRow>(q`select s.key, s.max_running, s.rate_count, s.rate_ms, s.starts,
      (select count(*) from (select 1 from {slot_runs} r where r.key = s.key limit ${MAX_AHEAD}) b) as running
    from {slots} s where s.key in (${list}) order by s.key`)
}

export function readWorkers(sql: Sql, now: Date): Promise<LiveWorker[]> {
  const statement = q`select w.id, w.queues, a.schemas from {workers} w
    left join {announcements} a on a.worker = w.id
    where w.missing_since is null and w.last_beat > ${new Date(now.getTime() - WORKER_SILENT_MS)}`
  return readAll(sql, statement, { queues: 'json', schemas: 'json' })
}

async function countAhead(sql: Sql, id: JobId, job: JobRow, now: Date): Promise<number> {
  const at = timeOf(sql, job.visible_at)
  const statement = aheadStatement({ id, at, queue: job.queue, priority: job.priority, now })
  const [row] = await sql.walk<{ ahead: number }>(statement)
  return Number(row?.ahead ?? 0)
}

/**
 * Due jobs that a claim takes before this one: those of higher priorities, level by level, and those of its own that
 * were due before it. Each level is a walk along `jobs_ready` that ends at the bound or at the first job that is not
 * due, so that a million scheduled jobs cost nothing.
 */
export function aheadStatement(job: {
  readonly id: JobId
  readonly queue: string
  readonly priority: number
  readonly at: Date
  readonly now: Date
}): Fragment {
  const { id, queue, priority, at, now } = job
  const limit = MAX_AHEAD + 1
  // A running job stays in the index.
  const isWaiting = q`(j.locked_until is null or j.locked_until < ${now})`
  const above = q`from {jobs} j where j.queue = ${queue} and j.visible_at is not null and j.priority > ${priority}`
  // Each level carries the number of jobs in those above it, and is the last when they are enough.
  return q`with recursive levels(priority, n, seen) as (
      select (select j.priority ${above} order by j.priority desc limit 1), 1, cast(0 as bigint)
      union all
      select (select j.priority ${above} and j.priority < l.priority order by j.priority desc limit 1), l.n + 1,
        l.seen + (select count(*) from (select 1 from {jobs} j
          where j.queue = ${queue} and j.priority = l.priority and j.visible_at <= ${now} and ${isWaiting}
          limit ${limit}) due)
      from levels l where l.priority is not null and l.n <= ${MAX_LEVELS} and l.seen < ${limit})
    select (select max(seen) from levels)
      + (select count(*) from (select 1 from {jobs} j
          where j.queue = ${queue} and j.priority = ${priority}
            and j.visible_at <= ${at} and (j.visible_at, j.id) < (${at}, ${id})
            and ${isWaiting}
          limit ${limit}) before) as ahead`
}

/** Runs that ended per minute: each frees a slot, also one that failed. */
export async function throughput(sql: Sql, queue: string, now: Date): Promise<number> {
  const from = new Date(now.getTime() - (now.getTime() % MINUTE_MS) - RECENT_MS)
  const points = await series(sql, { from, to: new Date(now.getTime() + 1), queue })
  const ended = points.reduce((sum, { completed, failed, retried }) => sum + completed + failed + retried, 0)
  return ended / ((now.getTime() - from.getTime()) / MINUTE_MS)
}

export const number = (value: number) => value.toLocaleString('en-US')

/** Each unit, and how many of it are one of the next. */
const UNITS = [
  ['s', 60],
  ['min', 60],
  ['h', 24],
] as const

/** "40 s", "4 min": of a wait that moves while it is read, more would be noise. */
export function inWords(ms: number): string {
  let value = Math.max(1, Math.round(ms / 1_000))
  for (const [unit, most] of UNITS) {
    if (value < most) return `${value} ${unit}`
    value = Math.round(value / most)
  }
  return `${number(value)} d`
}

const SUFFIXES: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd', other: 'th' }
const ordinals = new Intl.PluralRules('en-GB', { type: 'ordinal' })

const nth = (place: number) => `${number(place)}${SUFFIXES[ordinals.select(place)]} in line`
