import { newJobId } from '@oncue/core'
import type { AlertKind } from '@oncue/core/wire'
import type { AlertChange, AlertEpisode, AlertRow, AlertRuleRow } from '@oncue/db'
import { MAX_HELD_FOR, readRule, type Subject, unservedQueues } from './conditions.ts'
import type { Facts } from './facts.ts'

/**
 * Time without evaluations does not count, because the state in between is unknown: after a longer gap, or when the clock was
 * set back, periods of holding and of calm start anew. Longer than another process needs to take over.
 */
export const MAX_GAP_MS = 30_000

/** How long a condition must be clearly false before its alert is resolved; or half of `forMs`, if that is longer. */
const CALM_MS = 60_000

type Rule = Pick<AlertRuleRow, 'id' | 'kind' | 'queue' | 'topic' | 'threshold' | 'forMs' | 'enabled'>

/** Graver kinds first: a queue without a worker is also stalled, and a stalled queue is also late. */
const GRAVITY: readonly AlertKind[] = ['no_workers', 'stalled', 'oldest_waiting']

/** Alerts of one family have one cause, mostly, and one person to act: they are announced together. */
const FAMILIES: Readonly<Record<AlertKind, string>> = {
  no_workers: 'backlog',
  stalled: 'backlog',
  oldest_waiting: 'backlog',
  failure_rate: 'failures',
  topic_failure_rate: 'failures',
  new_error: 'failures',
  paused: 'paused',
}

/** The changes: episodes that begin, change or end. The others stay as they are. */
export function evaluate(facts: Facts, rules: readonly Rule[], open: readonly AlertRow[]): AlertChange[] {
  const { now } = facts
  const episodes = new Map(open.map((alert) => [alert.ruleId, alert]))
  const changes: AlertChange[] = []
  const explained = new Set<string>()
  const enabled = rules.filter((rule) => rule.enabled)
  const graver = GRAVITY.flatMap((kind) => enabled.filter((rule) => rule.kind === kind))
  for (const rule of [...graver, ...enabled.filter((each) => !graver.includes(each))]) {
    const subject = readRule(rule, facts, GRAVITY.includes(rule.kind) ? explained : undefined)
    if (!subject) continue
    const before = episodes.get(rule.id)
    episodes.delete(rule.id)
    const change = before ? goOn(before, rule, subject, now) : begin(rule, subject, now)
    if (change) changes.push(change)
    const after = change ? change.after : before
    if (after?.status === 'firing' && subject.reading.state === 'holds')
      for (const queue of explainedBy(rule, subject, facts)) explained.add(queue)
  }
  // Their rule was disabled or deleted, or their queue no longer exists.
  for (const before of episodes.values()) changes.push({ before, after: ended(before, now) })
  return grouped(changes, open, now)
}

/** The queues for which less grave alerts are suppressed while this one fires. */
function explainedBy({ kind, queue }: Rule, { heldFor }: Subject, facts: Facts): Iterable<string> {
  if (kind === 'stalled') return heldFor
  if (kind !== 'no_workers') return []
  if (queue === null && facts.whole.workers === 0) return facts.queues.keys()
  return unservedQueues(facts).filter((each) => queue === null || each === queue)
}

/**
 * A firing alert joins the open group of its family, unless that group is acknowledged as a whole: then it starts
 * another one.
 */
function grouped(changes: readonly AlertChange[], open: readonly AlertRow[], now: Date): AlertChange[] {
  const groups = new Map<string, string>()
  const ended = new Set(
    changes.filter(({ after }) => after?.status === 'resolved').map(({ before }) => before),
  )
  // If the last alert of a group resolves while a graver one fires, the group continues: so ended alerts come last.
  for (const alert of [...open].sort((a, b) => Number(ended.has(a)) - Number(ended.has(b)))) {
    const family = FAMILIES[alert.kind]
    if (alert.status === 'firing' && !alert.acked && !alert.snoozed && !groups.has(family))
      groups.set(family, alert.groupId ?? alert.id)
  }
  return changes.map((change) => {
    const { after } = change
    if (!after || after.groupId !== null || after.status === 'pending') return change
    const family = FAMILIES[after.kind]
    const groupId = change.before?.firedAt
      ? change.before.id
      : (groups.get(family) ?? newJobId(now.getTime()))
    if (!change.before?.firedAt) groups.set(family, groupId)
    return { ...change, after: { ...after, groupId } }
  })
}

function begin(
  rule: Rule,
  { queue, topic, fingerprint, reading, heldFor }: Subject,
  now: Date,
): AlertChange | null {
  if (reading.state !== 'holds') return null
  const { id: ruleId, kind, threshold, forMs } = rule
  const { value, summary } = reading
  const pending: AlertEpisode = {
    ruleId,
    kind,
    queue,
    topic,
    fingerprint,
    groupId: null,
    status: 'pending',
    value,
    threshold,
    summary,
    heldFor,
    since: now,
    firedAt: null,
    calmSince: null,
    resolvedAt: null,
    transitions: 0,
  }
  return { before: null, after: forMs === 0 ? fired(pending, now) : pending }
}

function goOn(before: AlertRow, rule: Rule, subject: Subject, now: Date): AlertChange | null {
  const { reading } = subject
  const sinceLookMs = now.getTime() - before.lookedAt.getTime()
  const isUnbroken = sinceLookMs >= 0 && sinceLookMs <= MAX_GAP_MS
  if (reading.state === 'holds') return hold(before, rule, subject, isUnbroken, now)
  if (before.status === 'pending') return { before, after: null }
  // A graver alert fires for every queue of this one.
  if (subject.isExplained) return { before, after: resolved(before, now) }
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
  { queue, topic, fingerprint, reading: { value, summary }, heldFor }: Subject,
  isUnbroken: boolean,
  now: Date,
): AlertChange | null {
  const about = { queue, topic, fingerprint, heldFor }
  const after: AlertEpisode = { ...before, ...about, value, threshold, summary, calmSince: null }
  if (before.status === 'pending') {
    const since = isUnbroken ? before.since : now
    if (now.getTime() - since.getTime() >= forMs) return { before, after: fired({ ...after, since }, now) }
    return since === before.since ? null : { before, after: { ...after, since } }
  }
  // The snooze has ended: notify again.
  if (before.snoozed && before.snoozed.until <= now)
    return { before, after: { ...after, transitions: before.transitions + 1 }, endsSnooze: true }
  // The acknowledgement did not cover this queue or error, or only some of the queues that lost their workers.
  const worst = fingerprint ?? queue
  const isNew = worst === null ? before.queue !== null : !before.heldFor.includes(worst)
  if (before.acked && isNew)
    return { before, after: { ...after, transitions: before.transitions + 1 }, endsAck: true }
  // Another error has nothing to do with the first one. Beyond the limit of names they are one incident.
  const isAnotherError = fingerprint !== null && isNew && before.heldFor.length < MAX_HELD_FOR
  if (isAnotherError && !before.snoozed)
    return { before, after: { ...after, transitions: before.transitions + 1 } }
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
