import type { AlertRow, AlertRuleRow } from '@oncue/db'
import { describe, expect, it } from 'vitest'
import { readRule } from './conditions.ts'
import { evaluate } from './evaluate.ts'
import type { Facts, QueueFacts } from './facts.ts'
import { acknowledgementOf, notificationOf } from './notification.ts'

const MINUTE = 60_000
const NOW = new Date('2026-01-01T12:00:00Z')
const ago = (ms: number) => new Date(NOW.getTime() - ms)

type Rule = Pick<AlertRuleRow, 'id' | 'kind' | 'queue' | 'topic' | 'threshold' | 'forMs' | 'enabled'>

const rule = (kind: Rule['kind'], changes: Partial<Rule> = {}): Rule => ({
  ...{ id: kind, kind, queue: null, topic: null, threshold: 1, forMs: 0, enabled: true },
  ...changes,
})
const WORKERS = rule('no_workers', { threshold: 0 })
const STALLED = rule('stalled')
const LATE = rule('oldest_waiting', { threshold: 300 })

/** A queue that is late and stalled, with a worker. */
const STUCK: QueueFacts = {
  ...{ waiting: 3, oldestWaiting: ago(10 * MINUTE), paused: null, workers: 1, wasBusy: true },
  ...{ ended: { failed: 0, ran: 0 }, isStill: true },
}

function facts(queues: Record<string, Partial<QueueFacts>>, changes: Partial<Facts> = {}): Facts {
  const all = Object.entries(queues).map(([queue, each]): [string, QueueFacts] => [
    queue,
    { ...STUCK, ...each },
  ])
  return {
    ...{ now: NOW, queues: new Map(all), whole: { waiting: 3, workers: 1, wasBusy: true } },
    ...{ topics: new Map(), newErrors: new Map(), ...changes },
  }
}

/** The rows of a store after an evaluation. */
function stored(changes: ReturnType<typeof evaluate>): AlertRow[] {
  return changes.flatMap(({ after }, n) =>
    after
      ? [{ ...after, id: `a${n}`, acked: null, snoozed: null, notified: 0, lookedAt: NOW, updated: NOW }]
      : [],
  )
}

describe('an alert storm', () => {
  it('of queues that lost their workers is one alert that names them', () => {
    const queues = {
      a: {},
      b: { waiting: 9 },
      c: {},
      d: {},
      e: {},
      served: { isStill: false, oldestWaiting: NOW },
    }
    for (const name of ['a', 'b', 'c', 'd', 'e'] as const) Object.assign(queues[name], { workers: 0 })
    const alerts = stored(evaluate(facts(queues), [LATE, STALLED, WORKERS], []))
    expect(alerts).toMatchObject([
      {
        ...{ kind: 'no_workers', queue: 'b', heldFor: ['a', 'b', 'c', 'd', 'e'] },
        summary: 'No worker serves 5 queues: b, a, c, d, e; 21 jobs wait',
      },
    ])
  })

  it('leaves out paused and empty queues without a worker', () => {
    const paused = { workers: 0, paused: { at: NOW, by: null, until: null } }
    expect(evaluate(facts({ paused, empty: { workers: 0, waiting: 0 } }), [WORKERS], [])).toEqual([])
  })

  it('reports a stalled queue only as stalled, and another one as late', () => {
    const queues = { stuck: {}, slow: { isStill: false } }
    const alerts = stored(evaluate(facts(queues), [LATE, STALLED], []))
    expect(alerts).toMatchObject([
      { kind: 'stalled', heldFor: ['stuck'] },
      { kind: 'oldest_waiting', heldFor: ['slow'] },
    ])
  })

  it('reports a queue as late until the alert that it is stalled fires', () => {
    const pending = rule('stalled', { forMs: MINUTE })
    const alerts = stored(evaluate(facts({ stuck: {} }), [LATE, pending], []))
    expect(alerts).toMatchObject([
      { kind: 'stalled', status: 'pending', groupId: null },
      { kind: 'oldest_waiting', status: 'firing' },
    ])
  })

  it('stays the same group when a graver alert replaces the one that it explains', () => {
    const [late] = stored(evaluate(facts({ stuck: {} }), [LATE], []))
    const changes = evaluate(facts({ stuck: {} }), [LATE, STALLED], late ? [late] : [])
    expect(changes.map(({ after }) => [after?.kind, after?.status, after?.groupId])).toEqual([
      ['stalled', 'firing', late?.groupId],
      ['oldest_waiting', 'resolved', late?.groupId],
    ])
    const rows = stored(changes)
    const open = rows.filter(({ status }) => status === 'firing')
    expect(notificationOf(rows, open, NOW)).toMatchObject({
      ...{ kind: 'firing', summary: 'stuck: 3 jobs wait, none finished for 5 min' },
      groups: [{ id: late?.groupId, action: 'trigger' }],
    })
  })

  it('keeps causes apart', () => {
    const failing = { isStill: false, oldestWaiting: NOW, ended: { failed: 30, ran: 30 } }
    const rules = [WORKERS, rule('failure_rate', { threshold: 0.1 })]
    const alerts = stored(
      evaluate(facts({ gone: { workers: 0 }, x: failing, y: failing, z: failing }), rules, []),
    )
    expect(alerts.map(({ kind, heldFor }) => [kind, heldFor])).toEqual([
      ['no_workers', ['gone']],
      ['failure_rate', ['x', 'y', 'z']],
    ])
    expect(new Set(alerts.map(({ groupId }) => groupId)).size).toBe(2)
  })

  it('is joined by later alerts of the same cause until it is acknowledged', () => {
    const [first] = stored(evaluate(facts({ mail: {} }), [STALLED], [])) as [AlertRow]
    const both = [STALLED, rule('oldest_waiting', { id: 'slow', queue: 'slow', threshold: 300 })]
    const next = (open: AlertRow) =>
      evaluate(facts({ mail: {}, slow: { isStill: false } }), both, [open]).find(({ before }) => !before)
        ?.after
    expect(next(first)?.groupId).toBe(first.groupId)
    const acked = { ...first, acked: { at: NOW, by: 'ada' } }
    expect(next(acked)?.groupId).not.toBe(first.groupId)
  })

  it('notifies again when it reaches a queue that was fine when it was acknowledged, or all queues', () => {
    const [alert] = stored(evaluate(facts({ a: { workers: 0 } }), [WORKERS], [])) as [AlertRow]
    const acked = { ...alert, acked: { at: NOW, by: 'ada' } }
    const more = facts({ a: { workers: 0 }, b: { workers: 0, waiting: 50 } })
    expect(evaluate(more, [WORKERS], [acked])).toMatchObject([{ endsAck: true, after: { queue: 'b' } }])
    const all = facts({ a: { workers: 0 } }, { whole: { waiting: 3, workers: 0, wasBusy: true } })
    expect(evaluate(all, [WORKERS], [acked])).toMatchObject([{ endsAck: true, after: { queue: null } }])
  })

  it('is one message, and one incident that is acknowledged with its last alert', () => {
    const rules = [STALLED, rule('oldest_waiting', { id: 'slow', queue: 'slow', threshold: 300 })]
    const rows = stored(evaluate(facts({ mail: {}, slow: { isStill: false } }), rules, []))
    const [first, second] = rows as [AlertRow, AlertRow]
    expect(notificationOf(rows, rows, NOW)).toMatchObject({
      summary: `2 alerts: ${first.summary} · ${second.summary}`,
      ...{ path: '/alerts', alerts: [{ id: 'a0' }, { id: 'a1' }], groups: [{ action: 'trigger' }] },
    })
    const ack = (row: AlertRow) => ({ ...row, acked: { at: NOW, by: 'ada' } })
    expect(acknowledgementOf([ack(first)], [ack(first), second], NOW)).toBeNull()
    expect(acknowledgementOf([ack(second)], [ack(first), ack(second)], NOW)).toMatchObject({
      groups: [{ id: first.groupId, action: 'acknowledge' }],
    })
  })

  it('does not close the incident while one of its alerts fires', () => {
    const rules = [STALLED, rule('oldest_waiting', { id: 'slow', queue: 'slow', threshold: 300 })]
    const [first, second] = stored(evaluate(facts({ mail: {}, slow: { isStill: false } }), rules, [])) as [
      AlertRow,
      AlertRow,
    ]
    const ended = { ...first, status: 'resolved', transitions: 2 } as const
    expect(notificationOf([ended], [second], NOW)).toMatchObject({
      kind: 'resolved',
      groups: [{ action: null }],
    })
    expect(notificationOf([ended], [], NOW)).toMatchObject({ groups: [{ action: 'resolve' }] })
    const again = { ...first, transitions: 2 }
    expect(notificationOf([again], [again], NOW)).toMatchObject({ groups: [{ action: 'retrigger' }] })
  })
})

describe('rules about topics and errors', () => {
  it('a topic fails too often', () => {
    const topics = new Map([['mail.send', { failed: 5, ran: 20 }]])
    const about = rule('topic_failure_rate', { topic: 'mail.send', threshold: 0.2 })
    expect(readRule(about, facts({}, { topics }))).toMatchObject({
      ...{ queue: null, topic: 'mail.send' },
      reading: { state: 'holds', summary: 'mail.send: 25% of 20 runs failed in 15 min (limit 20%)' },
    })
    expect(readRule({ ...about, topic: 'other' }, facts({}, { topics }))).toMatchObject({
      reading: { state: 'clear' },
    })
  })

  it('new errors are named by their class: a message may quote a payload', () => {
    const error = { fingerprint: 'f1', class: 'GatewayTimeout', topics: ['pay'], queues: ['money'] }
    const newErrors = new Map([[7, [error, { ...error, fingerprint: 'f2', class: 'Other' }]]])
    expect(readRule(rule('new_error', { threshold: 7 }), facts({}, { newErrors }))).toMatchObject({
      ...{ queue: 'money', topic: 'pay', fingerprint: 'f1', heldFor: ['f1', 'f2'] },
      reading: { summary: 'pay: new error GatewayTimeout, not seen for 7 days, and 1 other error' },
    })
    const elsewhere = rule('new_error', { threshold: 7, queue: 'mail' })
    expect(readRule(elsewhere, facts({}, { newErrors }))).toMatchObject({ reading: { state: 'clear' } })
  })
})
