import { type Job, type JobId, type JobWaits, stateOf } from '@oncue/core'
import { INTERNAL_QUEUE, retriesOfUndoing } from '@oncue/core/internal'
import { type Explanation, type WaitReason, WORKER_SILENT_MS } from '@oncue/core/wire'
import type { StoredEnding } from '../../store.ts'
import { isUuid } from '../../uuid.ts'
import { type Fragment, list, q, readAll, type Sql } from '../sql.ts'
import { withChildrenLeft } from './child-waits.ts'
import { parentsOf } from './family.ts'
import { glance, type StoredWaits, shownWaits } from './jobs.ts'
import { series } from './series.ts'

/** Jobs ahead are counted up to here: more than this many are "over 10,000". */
export const MAX_AHEAD = 10_000
/** Priorities above the job's own that are looked at. */
const MAX_LEVELS = 100
export const MINUTE_MS = 60_000
/** Throughput is that of the last 5 min, the current one included, as on the queue's page. */
const RECENT_MS = 4 * MINUTE_MS

type WaitingJob = Pick<
  Job,
  | 'queue'
  | 'topic'
  | 'status'
  | 'priority'
  | 'runAt'
  | 'visibleAt'
  | 'retries'
  | 'maxRetries'
  | 'crashes'
  | 'depsLeft'
  | 'concurrencyKey'
  | 'concurrencyLimit'
> & { readonly waits: JobWaits | null; readonly ending: StoredEnding | null }
type Settings = {
  readonly pausedAt: Date | null
  readonly pausedBy: string | null
  readonly pausedUntil: Date | null
  readonly ageingMs: number | null
}
type Slot = {
  readonly key: string
  readonly maxRunning: number | null
  readonly rateCount: number | null
  readonly rateMs: number | null
  readonly starts: readonly (number | string)[] | null
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
  const [job] = await readAll<Omit<WaitingJob, 'waits'> & { readonly waits: StoredWaits | null }>(
    sql,
    q`select queue, topic, cast(status as text) as status, priority, run_at, visible_at,
      retries, max_retries, crashes, deps_left, concurrency_key, concurrency_limit, waits, ending
    from {jobs} where id = ${id}`,
    { run_at: 'time', visible_at: 'time', waits: 'json', ending: 'json' },
  )
  if (!job) {
    const finished = (await glance(sql, [id])).get(id)
    return finished ? { id, status: finished.status, reasons: [], position: null, waitsFor: [] } : null
  }
  const { status, visibleAt } = job
  if (status === 'processing') return { id, status, reasons: [], position: null, waitsFor: [] }
  const stored = { ...job, id, waits: job.waits && shownWaits(status, job.waits) }
  const [waiting = stored] = await withChildrenLeft(sql, [stored])
  const now = await sql.now()
  const dueSince = status === 'pending' && visibleAt && visibleAt <= now ? visibleAt : null
  const [settings, slots, workers, waitsFor, ahead, perMinute] = await Promise.all([
    readSettings(sql, job.queue),
    readSlots(sql, job),
    readWorkers(sql, now),
    status === 'blocked' ? parentsOf(sql, id) : [],
    dueSince && countAhead(sql, { id, queue: job.queue, priority: job.priority, at: dueSince, now }),
    dueSince ? throughput(sql, job.queue, now) : 0,
  ])
  const reasons = [
    ...isUndone(job),
    ...waitsItself(waiting, slots, now),
    ...waitsForQueue(job.queue, settings, now),
    ...waitsForWorker(job, workers),
    ...(status === 'pending' ? waitsForSlot(waiting, slots, now) : []),
  ]
  if (ahead === null) return { id, status, reasons, position: null, waitsFor }
  const isExact = ahead <= MAX_AHEAD && !settings?.ageingMs
  // While something else stops the queue, an estimate would be made up.
  const isStopped = reasons.some(({ kind }) => kind !== 'undoing')
  const aboutMs = isStopped || perMinute === 0 ? null : ((ahead + 1) / perMinute) * MINUTE_MS
  const position = {
    ahead: Math.min(ahead, MAX_AHEAD),
    isExact,
    aboutMs: aboutMs === null ? null : Math.round(aboutMs),
  }
  // A line that no worker serves does not move.
  const isServed = !reasons.some(({ kind }) => kind === 'no_worker' || kind === 'unknown_topic')
  return { id, status, reasons: [...reasons, ...(isServed ? [inLine(position)] : [])], position, waitsFor }
}

/** "Being undone: will be cancelled" */
function isUndone({ ending }: Pick<WaitingJob, 'ending'>): WaitReason[] {
  const end = ending?.status === 'cancelled' ? 'be cancelled' : 'fail'
  return ending?.status ? [{ kind: 'undoing', text: `Being undone: will ${end}`, until: null }] : []
}

function waitsItself(job: WaitingJob, slots: readonly Slot[], now: Date): WaitReason[] {
  const { status, retries, maxRetries, crashes, depsLeft, visibleAt: until } = job
  const suspended = suspendedBy(job, now)
  if (suspended) return [suspended]
  if (status === 'blocked') {
    const text = `Waits for ${depsLeft === 1 ? '1 other job' : `${number(depsLeft)} other jobs`}`
    return [{ kind: 'parents', text, until: null }]
  }
  if (until === null || until <= now) return []
  const later = inWords(until.getTime() - now.getTime())
  const isDue = job.runAt <= now
  // For a rate, the time at which the next start is allowed.
  const rate = slots.find((slot) => slot.key === `k:${job.concurrencyKey}` && slot.rateCount !== null)
  if (isDue && rate && crashes === 0) return [rateReason(rate, until, now)]
  if (crashes > 0 && isDue)
    return [{ kind: 'back_off', text: `Backs off after a crash: next try in ${later}`, until }]
  if (retries > 0) {
    const most = job.ending?.status ? retriesOfUndoing(maxRetries) : maxRetries
    const text = `Backs off after a failed run: retry ${number(retries)} of ${number(most)} in ${later}`
    return [{ kind: 'back_off', text, until }]
  }
  return [{ kind: 'scheduled', text: `Scheduled: due in ${later}`, until }]
}

/** "signal bank", "an answer to approve", "the retry of charge", "3 of 5 children" */
function waitInWords({ kind, name, children }: JobWaits['for'][number]): string {
  if (children) return `${number(children.left)} of ${number(children.total)} children`
  if (kind === 'retry') return `the retry of ${name}`
  return `${kind === 'ask' ? 'an answer to' : kind} ${name}`
}

/** "Suspended: waits for signal bank", "Retrying step charge in 40 s" */
function suspendedBy(job: WaitingJob, now: Date): WaitReason | undefined {
  if (stateOf(job, now) !== 'suspended') return undefined
  const { waits, visibleAt: until, ending } = job
  const open = waits?.for ?? []
  const [only] = open
  if (open.length === 1 && only?.kind === 'retry' && until) {
    const what = ending?.status ? 'undo' : 'step'
    const text = `Retrying ${what} ${only.name} in ${inWords(until.getTime() - now.getTime())}`
    return { kind: 'suspended', text, until }
  }
  const names = open.map(waitInWords).join(' or ')
  const later = until && `, for another ${inWords(until.getTime() - now.getTime())}`
  return { kind: 'suspended', text: `Suspended: waits for ${names}${later ?? ''}`, until }
}

export function waitsForQueue(queue: string, settings: Settings | undefined, now: Date): WaitReason[] {
  if (!settings?.pausedAt) return []
  const { pausedUntil: until, pausedBy } = settings
  if (until && until <= now) return []
  const by = pausedBy === null ? '' : ` by ${pausedBy}`
  const text = until
    ? `Queue ${queue} is paused${by}, for another ${inWords(until.getTime() - now.getTime())}`
    : `Queue ${queue} was paused${by}, no end set`
  return [{ kind: 'paused', text, until }]
}

export function waitsForWorker(
  { queue, topic }: Pick<WaitingJob, 'queue' | 'topic'>,
  workers: readonly LiveWorker[],
): WaitReason[] {
  // The API runs these itself.
  if (queue === INTERNAL_QUEUE) return []
  const serving = workers.filter(({ queues }) => queues.includes(queue))
  if (serving.length === 0)
    return [{ kind: 'no_worker', text: `No live worker serves queue ${queue}`, until: null }]
  // A worker that announced nothing takes every topic.
  const isKnown = serving.some(({ schemas }) => schemas === null || Object.hasOwn(schemas, topic))
  const text = `No live worker of queue ${queue} knows topic ${topic}`
  return isKnown ? [] : [{ kind: 'unknown_topic', text, until: null }]
}

function waitsForSlot(job: WaitingJob, slots: readonly Slot[], now: Date): WaitReason[] {
  const { visibleAt, concurrencyKey } = job
  if (visibleAt && visibleAt > now) return []
  const reasons = slots.flatMap((slot) => waitsForLimit(job, slot, now))
  if (visibleAt || reasons.length > 0) return reasons
  const text = `Waits for a slot of concurrency key ${concurrencyKey}`
  return [{ kind: 'concurrency_key', text, until: null }]
}

/** What the limit of a queue or a concurrency key keeps from starting. */
export function waitsForLimit(
  job: Pick<WaitingJob, 'queue' | 'concurrencyLimit'>,
  slot: Slot,
  now: Date,
): WaitReason[] {
  const reasons: WaitReason[] = []
  const isKey = slot.key.startsWith('k:')
  const max = slot.maxRunning ?? (isKey ? job.concurrencyLimit : null)
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
  const free = nextStart(slot, now)
  if (free) reasons.push(rateReason(slot, free, now))
  return reasons
}

/** When the rate of a slot allows the next start; null: now. */
function nextStart({ rateCount, rateMs, starts }: Slot, now: Date): Date | null {
  if (rateCount === null || rateMs === null) return null
  const ms = now.getTime()
  const recent = (starts ?? [])
    .map(Number)
    .filter((start) => start > ms - rateMs && start <= ms + rateMs)
    .sort((a, b) => a - b)
  const frees = recent.at(-rateCount)
  return recent.length < rateCount || frees === undefined ? null : new Date(frees + rateMs)
}

function rateReason({ key, rateCount, rateMs }: Slot, until: Date, now: Date): WaitReason {
  const what = key.startsWith('k:') ? `concurrency key ${key.slice(2)}` : `queue ${key.slice(2)}`
  const starts = rateCount === 1 ? '1 start' : `${number(rateCount ?? 0)} starts`
  const rate = `${starts} per ${inWords(rateMs ?? 0)}`
  const text = `Rate limit of ${what}: ${rate}, next in ${inWords(until.getTime() - now.getTime())}`
  return { kind: 'rate_limit', text, until }
}

function inLine({ ahead, isExact, aboutMs }: NonNullable<Explanation['position']>): WaitReason {
  const when = aboutMs === null ? '' : `, about ${inWords(aboutMs)}`
  const over = ahead >= MAX_AHEAD && !isExact
  const place = over ? `Over ${number(ahead)} jobs are ahead` : ahead === 0 ? 'Next in line' : nth(ahead + 1)
  return { kind: 'in_line', text: `${isExact || over ? '' : 'About: '}${place}${when}`, until: null }
}

export async function readSettings(sql: Sql, queue: string): Promise<Settings | undefined> {
  const statement = q`select paused_at, paused_by, paused_until, ageing_ms from {queues} where name = ${queue}`
  const [settings] = await readAll<Settings>(sql, statement, { paused_at: 'time', paused_until: 'time' })
  return settings
}

export function readSlots(
  sql: Sql,
  { queue, concurrencyKey }: Pick<WaitingJob, 'queue' | 'concurrencyKey'>,
): Promise<Slot[]> {
  const keys = [`q:${queue}`, ...(concurrencyKey === null ? [] : [`k:${concurrencyKey}`])]
  const statement = q`select s.key, s.max_running, s.rate_count, s.rate_ms, s.starts,
      (select count(*) from (select 1 from {slot_runs} r where r.key = s.key limit ${MAX_AHEAD}) b) as running
    from {slots} s where s.key in (${list(keys)}) order by s.key`
  return readAll(sql, statement, { starts: 'json' })
}

export function readWorkers(sql: Sql, now: Date): Promise<LiveWorker[]> {
  const statement = q`select w.id, w.queues, a.schemas from {workers} w
    left join {announcements} a on a.worker = w.id
    where w.missing_since is null and w.last_beat > ${new Date(now.getTime() - WORKER_SILENT_MS)}`
  return readAll(sql, statement, { queues: 'json', schemas: 'json' })
}

type Due = Pick<Job, 'id' | 'queue' | 'priority'> & { readonly at: Date; readonly now: Date }

async function countAhead(sql: Sql, job: Due): Promise<number> {
  const [row] = await sql.walk<{ ahead: number }>(aheadStatement(job))
  return Number(row?.ahead ?? 0)
}

/**
 * Due jobs that a claim takes before this one: those of higher priorities, level by level, and those of its own that
 * were due before it. Each level is a walk along `jobs_ready` that ends at the bound or at the first job that is not
 * due, so that a million scheduled jobs cost nothing.
 */
export function aheadStatement({ id, queue, priority, at, now }: Due): Fragment {
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
