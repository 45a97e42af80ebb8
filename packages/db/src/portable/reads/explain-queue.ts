import type { QueueExplanation, WaitReason } from '@oncue/core/wire'
import { createGauges, shrinkage } from '../gauges.ts'
import { type Fragment, join, q, type Sql } from '../sql.ts'
import {
  inWords,
  MAX_AHEAD,
  MINUTE_MS,
  number,
  readSettings,
  readSlots,
  readWorkers,
  throughput,
  waitsForLimit,
  waitsForQueue,
  waitsForWorker,
} from './explain.ts'
import { type Level, levelsOf, walkLevel } from './ready.ts'
import { workers } from './workers.ts'

/** Jobs whose topics are looked at, in all: the first waiting ones of each priority, as many of each. */
const MAX_SEEN = 1_000
/** More than the time that a trend looks back. */
const SAMPLES_MS = 10 * MINUTE_MS
const MAX_UNKNOWN = 5

/** Why the jobs of a queue wait: everything that keeps them from running now, and about how long until none waits. */
export async function explainQueue(sql: Sql, queue: string): Promise<QueueExplanation> {
  const now = await sql.now()
  const levels = await levelsOf(sql, [queue])
  const waiting = await countWaiting(sql, levels, now)
  if (waiting === 0)
    return { queue, waiting, reasons: await laterReasons(sql, queue, levels, now), drain: null }
  const [settings, slots, live, rows, topics, perMinute, samples] = await Promise.all([
    readSettings(sql, queue),
    readSlots(sql, { queue, concurrencyKey: null }),
    readWorkers(sql, now),
    workers(sql),
    readTopics(sql, levels, now),
    throughput(sql, queue, now),
    createGauges(sql).list({ from: new Date(now.getTime() - SAMPLES_MS), to: now, queue }),
  ])
  const stops = [
    ...waitsForQueue(queue, settings, now),
    ...unserved(
      queue,
      topics.flatMap((topic) => waitsForWorker({ queue, topic }, live)),
    ),
  ]
  const limits = slots.flatMap((slot) => waitsForLimit({ queue, concurrencyLimit: null }, slot, now))
  const alive = new Set(live.map(({ id }) => id))
  const serving = rows.filter(({ id, queues }) => alive.has(id) && queues.includes(queue))
  const staff = {
    slots: serving.reduce((sum, { concurrency }) => sum + concurrency, 0),
    // Prefetched runs wait for a slot as well.
    busy: serving.reduce((sum, { running, concurrency }) => sum + Math.min(running, concurrency), 0),
  }
  const isFull = staff.slots > 0 && staff.busy >= staff.slots
  const reasons = [...stops, ...limits, ...(isFull ? [slotsBusy(staff.slots)] : [])]
  // While something else stops the queue, a time would be invented.
  const perMs = shrinkage({ queue, waiting }, samples, now)
  const isBottleneck = isFull && limits.length === 0
  const drain = stops.length > 0 ? null : drainOf({ waiting, perMinute, perMs, ...staff, isBottleneck })
  return { queue, waiting: Math.min(waiting, MAX_AHEAD), reasons, drain }
}

/** While nothing waits: that it is paused, that jobs are due later, or that there is no such queue. */
async function laterReasons(
  sql: Sql,
  queue: string,
  levels: readonly Level[],
  now: Date,
): Promise<WaitReason[]> {
  const [settings, slots, live, past, later] = await Promise.all([
    readSettings(sql, queue),
    readSlots(sql, { queue, concurrencyKey: null }),
    readWorkers(sql, now),
    sql.all(q`select queue from {totals} where queue = ${queue}
      union select queue from {stat_deltas} where queue = ${queue}`),
    readLater(sql, levels, now),
  ])
  const isServed = live.some(({ queues }) => queues.includes(queue))
  if (levels.length === 0 && !settings && slots.length === 0 && past.length === 0 && !isServed) {
    const text = `There is no queue ${queue}: it has had no jobs, and no worker serves it`
    return [{ kind: 'unknown_queue', text, until: null }]
  }
  return [...waitsForQueue(queue, settings, now), ...later]
}

async function readLater(sql: Sql, levels: readonly Level[], now: Date): Promise<WaitReason[]> {
  let count = 0
  let until: Date | null = null
  for (const level of levels) {
    const walk = walkLevel(level, 'later', 'j.status, j.visible_at', now, MAX_AHEAD + 1)
    const [row] = await sql.walk<{ count: number; first: unknown }>(
      q`select count(*) as count, min(w.visible_at) as first from (${walk}) w where w.status = 'pending'`,
    )
    count += Number(row?.count ?? 0)
    const first = sql.time(row?.first)
    if (first && (!until || first < until)) until = first
    if (count > MAX_AHEAD) break
  }
  if (!until) return []
  const jobs =
    count > MAX_AHEAD
      ? `Over ${number(MAX_AHEAD)} jobs are`
      : count === 1
        ? '1 job is'
        : `${number(count)} jobs are`
  const first = `${count === 1 ? 'due' : 'the first due'} in ${inWords(until.getTime() - now.getTime())}`
  return [{ kind: 'scheduled', text: `${jobs} scheduled or retried later, ${first}`, until }]
}

/** Without a worker one reason says it all; of many unknown topics the first are enough. */
function unserved(queue: string, reasons: readonly WaitReason[]): WaitReason[] {
  const noWorker = reasons.find(({ kind }) => kind === 'no_worker')
  if (noWorker) return [noWorker]
  const more = reasons.length - MAX_UNKNOWN
  if (more <= 0) return [...reasons]
  const text = `${number(more)} or more other topics are unknown to the live workers of queue ${queue}`
  return [...reasons.slice(0, MAX_UNKNOWN), { kind: 'unknown_topic', text, until: null }]
}

function slotsBusy(slots: number): WaitReason {
  const text = `All slots are busy (${number(slots)} of ${number(slots)})`
  return { kind: 'slots_busy', text, until: null }
}

interface Pace {
  readonly waiting: number
  readonly perMinute: number
  /** By how many jobs per millisecond the backlog shrinks. */
  readonly perMs: number | null
  readonly slots: number
  readonly busy: number
  /** More slots would run more jobs. */
  readonly isBottleneck: boolean
}

/** Beyond this, the time until a queue is empty depends more on chance than on its pace. */
const BARELY_MS = 4 * 60 * MINUTE_MS

/** Twice the slots end twice the runs, while as many new jobs come as before. */
function drainOf(pace: Pace): NonNullable<QueueExplanation['drain']> {
  const { waiting, perMs, slots, busy, isBottleneck } = pace
  const perMinute = Math.round(pace.perMinute * 10) / 10
  const emptyIn = (rate: number) => (rate > 0 ? Math.round(waiting / rate) : null)
  const aboutMs = perMs === null ? null : emptyIn(perMs)
  const twiceMs =
    perMs === null || !isBottleneck || pace.perMinute === 0
      ? null
      : emptyIn(perMs + pace.perMinute / MINUTE_MS)
  const withSlots = twiceMs === null ? null : { slots: 2 * slots, aboutMs: twiceMs }
  // When all are busy, the reason says so.
  const free = busy < slots ? `${number(busy)} of ${number(slots)} slots busy, ` : ''
  const done = `${free}${rate(pace.perMinute)} done`
  if (perMs === null) return { text: done, perMinute, slots, busy, aboutMs, withSlots }
  const arriving = `${rate(Math.max(0, pace.perMinute - perMs * MINUTE_MS))} arriving`
  const text = `${done}, ${arriving}: ${[endOf(aboutMs), twiceOf(aboutMs, withSlots)].filter(Boolean).join('; ')}`
  return { text, perMinute, slots, busy, aboutMs, withSlots }
}

const rate = (perMinute: number) => `${number(Math.round(perMinute * 10) / 10)}/min`

const isSoon = (aboutMs: number | null) => aboutMs !== null && aboutMs <= BARELY_MS

function endOf(aboutMs: number | null): string {
  if (aboutMs === null) return 'not shrinking'
  return isSoon(aboutMs) ? `empty in about ${inWords(aboutMs)}` : 'barely shrinking'
}

function twiceOf(
  aboutMs: number | null,
  withSlots: NonNullable<QueueExplanation['drain']>['withSlots'],
): string | false {
  if (!withSlots || !isSoon(withSlots.aboutMs)) return false
  const time = `${isSoon(aboutMs) ? '' : 'empty in about '}${inWords(withSlots.aboutMs)}`
  return `${time} with ${number(withSlots.slots)} slots`
}

const WAITING = (now: Date): Fragment => q`(w.locked_until is null or w.locked_until < ${now})`

async function countWaiting(sql: Sql, levels: readonly Level[], now: Date): Promise<number> {
  let count = 0
  // Level by level, the highest first: the last ones are hardly ever needed.
  for (const level of levels) {
    const walk = walkLevel(level, 'due', 'j.locked_until', now, MAX_AHEAD + 1)
    const [row] = await sql.walk<{ count: number }>(
      q`select count(*) as count from (${walk}) w where ${WAITING(now)}`,
    )
    count += Number(row?.count ?? 0)
    if (count > MAX_AHEAD) break
  }
  return count
}

async function readTopics(sql: Sql, levels: readonly Level[], now: Date): Promise<string[]> {
  const limit = Math.trunc(MAX_SEEN / levels.length)
  const walks = levels.map(
    (level) => q`select w.topic from (${walkLevel(level, 'due', 'j.topic, j.locked_until', now, limit)}) w
      where ${WAITING(now)}`,
  )
  const rows = await sql.walk<{ topic: string }>(
    q`select distinct topic from (${join(walks, ' union all ')}) t order by topic`,
  )
  return rows.map(({ topic }) => topic)
}
