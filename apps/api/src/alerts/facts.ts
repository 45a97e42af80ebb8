import { INTERNAL_QUEUE } from '@oncue/core/internal'
import { FAILURE_WINDOW_MS, NEW_ERROR_WINDOW_MS, STALL_WINDOW_MS } from '@oncue/core/wire'
import type { AlertRuleRow, FailureGroup, QueueOverview, Store } from '@oncue/db'
import { Ended, minuteOf } from '../health/ended.ts'
import { readLoad } from '../health/facts.ts'
import { WorkerCapacity } from '../health/worker-capacity.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const FAILURE_MINUTES = FAILURE_WINDOW_MS / MINUTE_MS
const STALL_MINUTES = STALL_WINDOW_MS / MINUTE_MS

export interface Staffing {
  /** Jobs that are ready to run. */
  readonly waiting: number
  /** Live workers that serve it. */
  readonly workers: number
  /** A job ended within the last day. Read only for rules about missing workers. */
  readonly wasBusy: boolean
}

export interface QueueFacts extends Staffing, Pick<QueueOverview, 'oldestWaiting' | 'paused'> {
  /** Failed and all runs within the window. */
  readonly ended: { readonly failed: number; readonly ran: number }
  /** No run ended within the window. */
  readonly isStill: boolean
}

/** An error that appeared, or came back. */
interface NewError extends Pick<FailureGroup, 'fingerprint' | 'topics' | 'queues'> {
  readonly class: string
}

/** How many errors are checked: more kinds of failures within an hour are one incident anyway. */
const MAX_ERRORS = 100

/** The facts for all rules, read once, without the internal queue and workers that serve nothing else. */
export interface Facts {
  readonly now: Date
  readonly whole: Staffing
  readonly queues: ReadonlyMap<string, QueueFacts>
  /** Failed and all runs of each topic that has a rule. */
  readonly topics: ReadonlyMap<string, QueueFacts['ended']>
  /** By the days of each rule: errors of the last hour that were not seen for so many days before, the newest first. */
  readonly newErrors: ReadonlyMap<number, readonly NewError[]>
}

export async function readFacts(store: Store, rules: readonly AlertRuleRow[]): Promise<Facts> {
  const now = await store.now()
  const minute = minuteOf(now).getTime()
  const [load, activity] = await Promise.all([
    readLoad(store),
    store.activity({
      from: new Date(minute - FAILURE_WINDOW_MS),
      to: new Date(minute + MINUTE_MS),
    }),
  ])
  const capacities = new WorkerCapacity(load.workers, now)

  const busy = new Map<string | null, boolean>()
  for (const { kind, queue, threshold, enabled } of rules) {
    const { workers } = queue === null ? capacities.whole : capacities.of(queue)
    if (kind === 'no_workers' && enabled && workers <= threshold)
      busy.set(queue, await store.alerts.wasBusy(new Date(now.getTime() - DAY_MS), queue))
  }

  const endedOf = new Map(load.queues.map(({ queue }) => [queue, new Ended()]))
  for (const point of activity) endedOf.get(point.queue)?.add(point, now)

  const queues = load.queues.map(({ queue, waiting, oldestWaiting, paused }): [string, QueueFacts] => {
    const ended = endedOf.get(queue) ?? new Ended()
    const { workers } = capacities.of(queue)
    return [
      queue,
      {
        ...{ waiting, oldestWaiting, paused, workers, wasBusy: busy.get(queue) ?? false },
        ended: ended.last(FAILURE_MINUTES),
        // The current minute has only begun, so the full minutes before it count as well.
        isStill: ended.last(STALL_MINUTES + 1).ran === 0,
      },
    ]
  })
  const waiting = load.queues.reduce((sum, overview) => sum + overview.waiting, 0)
  const whole = { waiting, workers: capacities.whole.workers, wasBusy: busy.get(null) ?? false }
  const [topics, newErrors] = await Promise.all([
    readTopics(store, rules, now),
    readErrors(store, rules, now),
  ])
  return { now, whole, queues: new Map(queues), topics, newErrors }
}

async function readTopics(store: Store, rules: readonly AlertRuleRow[], now: Date): Promise<Facts['topics']> {
  const minute = minuteOf(now).getTime()
  const range = { from: new Date(minute - FAILURE_WINDOW_MS + MINUTE_MS), to: new Date(minute + MINUTE_MS) }
  const topics = new Set(rules.flatMap(({ enabled, topic }) => (enabled && topic) || []))
  const ended = new Map<string, QueueFacts['ended']>()
  for (const topic of topics) {
    const points = await store.series({ ...range, topic, stepMinutes: FAILURE_MINUTES })
    const failed = points.reduce((sum, point) => sum + point.failed + point.retried, 0)
    ended.set(topic, { failed, ran: points.reduce((sum, { completed }) => sum + completed, failed) })
  }
  return ended
}

async function readErrors(
  store: Store,
  rules: readonly AlertRuleRow[],
  now: Date,
): Promise<Facts['newErrors']> {
  const days = new Set(
    rules.flatMap(({ kind, enabled, threshold }) => (kind === 'new_error' && enabled ? threshold : [])),
  )
  if (days.size === 0) return new Map()
  const since = new Date(now.getTime() - NEW_ERROR_WINDOW_MS)
  const groups = await store.failures({ since, newSince: since, sort: 'largest', limit: MAX_ERRORS })
  const errors = groups
    // A job that has been retried for days keeps an old error in the list.
    .filter(({ firstSeen }) => firstSeen >= since)
    .filter(({ queues }) => queues.some((queue) => queue !== INTERNAL_QUEUE))
    // The alert names the one that it has just fired for.
    .sort((a, b) => b.firstSeen.getTime() - a.firstSeen.getTime())
    .map(toError)
  const found = new Map<number, NewError[]>()
  for (const each of days) {
    const before = new Date(since.getTime() - each * DAY_MS)
    const fingerprints = errors.map(({ fingerprint }) => fingerprint)
    const seen = await store.alerts.failedBetween(fingerprints, before, since)
    found.set(
      each,
      errors.filter(({ fingerprint }) => !seen.has(fingerprint)),
    )
  }
  return found
}

function toError({ fingerprint, topics, queues, class: name }: FailureGroup): NewError {
  return { fingerprint, topics, queues, class: name || 'Error' }
}
