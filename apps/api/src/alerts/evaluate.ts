import type { AlertKind } from '@oncue/core/wire'
import type { AlertChange, AlertEpisode, AlertRow, AlertRuleRow } from '@oncue/db'
import { readRule, type Subject } from './conditions.ts'
import type { Facts } from './facts.ts'

/**
 * Time without evaluations does not count, because the state in between is unknown: after a longer gap, or when the clock was
 * set back, periods of holding and of calm start anew. Longer than another process needs to take over.
 */
export const MAX_GAP_MS = 30_000

/** How long a condition must be clearly false before its alert is resolved; or half of `forMs`, if that is longer. */
const CALM_MS = 60_000

type Rule = Pick<AlertRuleRow, 'id' | 'kind' | 'queue' | 'threshold' | 'forMs' | 'enabled'>

/** The changes: episodes that begin, change or end. The others stay as they are. */
export function evaluate(facts: Facts, rules: readonly Rule[], open: readonly AlertRow[]): AlertChange[] {
  const { now } = facts
  const isDeserted = facts.whole.workers === 0 && open.some(isAboutAllWorkers)
  const episodes = new Map(open.map((alert) => [alert.ruleId, alert]))
  const changes: AlertChange[] = []
  for (const rule of rules.filter(({ enabled }) => enabled)) {
    const subject = readRule(rule, facts)
    if (!subject) continue
    const before = episodes.get(rule.id)
    episodes.delete(rule.id)
    // The alert that no worker is left implies that jobs wait in every queue.
    if (!before && isDeserted && FOLLOWS.has(rule.kind)) continue
    const change = before ? goOn(before, rule, subject, now) : begin(rule, subject, now)
    if (change) changes.push(change)
  }
  // Their rule was disabled or deleted, or their queue no longer exists.
  for (const before of episodes.values()) changes.push({ before, after: ended(before, now) })
  return changes
}

const FOLLOWS: ReadonlySet<AlertKind> = new Set(['oldest_waiting', 'stalled'])

const isAboutAllWorkers = ({ kind, queue, status }: AlertRow) =>
  kind === 'no_workers' && queue === null && status === 'firing'

function begin(rule: Rule, { queue, reading, heldFor }: Subject, now: Date): AlertChange | null {
  if (reading.state !== 'holds') return null
  const { id: ruleId, kind, threshold, forMs } = rule
  const { value, summary } = reading
  const pending: AlertEpisode = {
    ...{ ruleId, kind, queue, status: 'pending', value, threshold, summary, heldFor, since: now },
    ...{ firedAt: null, calmSince: null, resolvedAt: null, transitions: 0 },
  }
  return { before: null, after: forMs === 0 ? fired(pending, now) : pending }
}

function goOn(before: AlertRow, rule: Rule, subject: Subject, now: Date): AlertChange | null {
  const { reading } = subject
  const sinceLookMs = now.getTime() - before.lookedAt.getTime()
  const isUnbroken = sinceLookMs >= 0 && sinceLookMs <= MAX_GAP_MS
  if (reading.state === 'holds') return hold(before, rule, subject, isUnbroken, now)
  if (before.status === 'pending') return { before, after: null }
  if (reading.state === 'between')
    return before.calmSince ? { before, after: { ...before, calmSince: null } } : null

  const calmSince = (isUnbroken && before.calmSince) || now
  const calmMs = Math.max(CALM_MS, rule.forMs / 2)
  if (now.getTime() - calmSince.getTime() >= calmMs) return { before, after: resolved(before, now) }
  return calmSince === before.calmSince ? null : { before, after: { ...before, calmSince } }
}

function hold(
  before: AlertRow,
  { threshold, forMs }: Rule,
  { queue, reading: { value, summary }, heldFor }: Subject,
  isUnbroken: boolean,
  now: Date,
): AlertChange | null {
  const after: AlertEpisode = { ...before, queue, value, threshold, summary, heldFor, calmSince: null }
  if (before.status === 'pending') {
    const since = isUnbroken ? before.since : now
    if (now.getTime() - since.getTime() >= forMs) return { before, after: fired({ ...after, since }, now) }
    return since === before.since ? null : { before, after: { ...after, since } }
  }
  // The snooze has ended: notify again.
  if (before.snoozed && before.snoozed.until <= now)
    return { before, after: { ...after, transitions: before.transitions + 1 }, endsSnooze: true }
  // The acknowledgement did not cover this queue.
  if (before.acked && queue !== null && !before.heldFor.includes(queue))
    return { before, after: { ...after, transitions: before.transitions + 1 }, endsAck: true }
  // Write only what people would see, and the queues that an acknowledgement covers.
  const isKnown = before.acked !== null || heldFor.join('\n') === before.heldFor.join('\n')
  const isSame =
    isKnown && summary === before.summary && threshold === before.threshold && before.calmSince === null
  return isSame ? null : { before, after }
}

function fired(episode: AlertEpisode, now: Date): AlertEpisode {
  return { ...episode, status: 'firing', firedAt: now, transitions: episode.transitions + 1 }
}

function resolved(episode: AlertEpisode, now: Date): AlertEpisode {
  return { ...episode, status: 'resolved', resolvedAt: now, transitions: episode.transitions + 1 }
}

function ended(before: AlertRow, now: Date): AlertEpisode | null {
  return before.status === 'pending' ? null : resolved(before, now)
}
