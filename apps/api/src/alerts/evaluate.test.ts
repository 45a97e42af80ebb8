import type { AlertChange, AlertRow, AlertRuleRow } from '@oncue/db'
import { beforeEach, describe, expect, it } from 'vitest'
import { evaluate, MAX_GAP_MS } from './evaluate.ts'
import type { Facts, QueueFacts } from './facts.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const TICK = 5 * SECOND

type Rule = Pick<AlertRuleRow, 'id' | 'kind' | 'queue' | 'topic' | 'threshold' | 'forMs' | 'enabled'>

const LATE: Rule = {
  ...{ id: 'late', kind: 'oldest_waiting', queue: null, topic: null, threshold: 300 },
  ...{ forMs: MINUTE, enabled: true },
}

let now: number
let rules: Rule[]
/** How long the oldest job of each queue waits, in seconds. */
let waits: Record<string, number>
/** How many are alive. */
let workers: number
let alerts: AlertRow[]

beforeEach(() => {
  now = Date.UTC(2026, 0, 1)
  rules = [LATE]
  waits = { mail: 0 }
  workers = 1
  alerts = []
})

function factsNow(): Facts {
  const queues = Object.entries(waits).map(([queue, seconds]): [string, QueueFacts] => [
    queue,
    {
      ...{ waiting: 1, oldestWaiting: new Date(now - seconds * SECOND), paused: null },
      ...{ ended: { failed: 0, ran: 0 }, isStill: false, workers: 1, wasBusy: true },
    },
  ])
  const whole = { waiting: 1, workers, wasBusy: true }
  return { now: new Date(now), queues: new Map(queues), whole, topics: new Map(), newErrors: new Map() }
}

/** One evaluation, applied as a store would. */
function look(): readonly AlertChange[] {
  const open = alerts.filter(({ status }) => status !== 'resolved')
  const changes = evaluate(factsNow(), rules, open)
  const at = new Date(now)
  for (const { before, after, endsAck, endsSnooze } of changes) {
    const acked = endsAck ? null : (before?.acked ?? null)
    const marks = { acked, snoozed: endsSnooze ? null : (before?.snoozed ?? null) }
    const heldFor = (acked ? before?.heldFor : after?.heldFor) ?? []
    const row = after && { ...after, ...marks, heldFor, id: before?.id ?? `a${alerts.length}` }
    alerts = alerts.filter((alert) => alert !== before)
    if (row) alerts.push({ ...row, notified: 0, lookedAt: at, updated: at })
  }
  alerts = alerts.map((alert) => ({ ...alert, lookedAt: at }))
  return changes
}

/** Evaluates regularly for this long. */
function watch(ms: number): void {
  for (const end = now + ms; now < end; ) {
    now += TICK
    look()
  }
}

/** One evaluation after a gap of this length without any. */
function lookAfter(ms: number): void {
  now += ms
  look()
}

const theOnly = (): AlertRow => {
  expect(alerts).toHaveLength(1)
  return alerts[0] as AlertRow
}
const mark = (marks: Partial<AlertRow>) => {
  alerts = [{ ...theOnly(), ...marks }]
}
function fire(): void {
  waits.mail = 301
  look()
  watch(MINUTE)
  expect(theOnly()).toMatchObject({ status: 'firing', transitions: 1 })
}

describe('an alert fires', () => {
  it('when its condition has held for long enough, and notifies once', () => {
    waits.mail = 301
    look()
    watch(MINUTE - TICK)
    expect(theOnly()).toMatchObject({ status: 'pending', firedAt: null, transitions: 0 })
    watch(TICK)
    expect(theOnly()).toMatchObject({ status: 'firing', firedAt: new Date(now), transitions: 1 })
    watch(10 * MINUTE)
    expect(theOnly().transitions).toBe(1)
  })

  it('at once if its rule has no minimum duration', () => {
    rules = [{ ...LATE, forMs: 0 }]
    waits.mail = 301
    look()
    expect(theOnly()).toMatchObject({ status: 'firing', since: new Date(now), transitions: 1 })
  })

  it('not if its condition held only for a moment', () => {
    waits.mail = 301
    look()
    watch(MINUTE - TICK)
    waits.mail = 300
    look()
    expect(alerts).toEqual([])
  })

  it('once for each rule, naming the worst queue, and for one queue if the rule says so', () => {
    rules = [
      { ...LATE, forMs: 0 },
      { ...LATE, id: 'media', queue: 'media', threshold: 10, forMs: 0 },
      { ...LATE, id: 'nobody', queue: 'unknown', threshold: 0, forMs: 0 },
    ]
    waits = { mail: 301, media: 420, other: 20 }
    look()
    expect(alerts.map(({ ruleId, queue, summary }) => [ruleId, queue, summary])).toEqual([
      ['late', 'media', 'media: oldest job waits 7 min (limit 5 min), and 1 other queue'],
      ['media', 'media', 'media: oldest job waits 7 min (limit 10 s)'],
    ])
  })

  it('once, however many queues a producer invents', () => {
    waits = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`q${n}`, 301 + n]))
    look()
    watch(MINUTE)
    expect(theOnly()).toMatchObject({
      ...{ status: 'firing', queue: 'q999', transitions: 1 },
      summary: 'q999: oldest job waits 21 min (limit 5 min), and 999 other queues',
    })
  })

  it('once for all workers together', () => {
    rules = [{ ...LATE, id: 'workers', kind: 'no_workers', threshold: 0, forMs: 0 }]
    waits = { mail: 1, media: 1 }
    workers = 0
    look()
    expect(theOnly()).toMatchObject({ queue: null, summary: 'No workers are alive, 1 job waits' })
  })

  it('not for queues that are late because no worker is left, which has its own alert', () => {
    rules = [LATE, { ...LATE, id: 'workers', kind: 'no_workers', threshold: 0, forMs: 0 }]
    workers = 0
    look()
    waits = { mail: 400, media: 400 }
    watch(10 * MINUTE)
    expect(theOnly()).toMatchObject({ ruleId: 'workers', status: 'firing' })
    workers = 1
    watch(3 * MINUTE)
    const late = alerts
      .filter(({ status }) => status === 'firing')
      .map(({ ruleId, queue }) => [ruleId, queue])
    expect(late).toEqual([['late', 'mail']])
  })

  it('for late queues without workers, if no rule is about workers', () => {
    workers = 0
    waits = { mail: 400, media: 400 }
    look()
    expect(theOnly()).toMatchObject({ ruleId: 'late', queue: 'mail' })
  })

  it('with a new waiting time after a gap in evaluations, during which its state is unknown', () => {
    waits.mail = 301
    look()
    lookAfter(60 * MINUTE)
    expect(theOnly()).toMatchObject({ status: 'pending', since: new Date(now) })
    watch(MINUTE - TICK)
    expect(theOnly().status).toBe('pending')
    watch(TICK)
    expect(theOnly().status).toBe('firing')
  })

  it('with a new waiting time when the clock was set back', () => {
    waits.mail = 301
    look()
    lookAfter(-60 * MINUTE)
    expect(theOnly()).toMatchObject({ status: 'pending', since: new Date(now) })
    watch(MINUTE)
    expect(theOnly().status).toBe('firing')
  })

  it('on time when another process took over', () => {
    waits.mail = 301
    look()
    lookAfter(MAX_GAP_MS)
    lookAfter(MAX_GAP_MS)
    expect(theOnly().status).toBe('firing')
  })
})

describe('a firing alert', () => {
  beforeEach(fire)

  it('shows the current value, and is stored only when that changes', () => {
    waits.mail = 720
    look()
    expect(theOnly().summary).toBe('mail: oldest job waits 12 min (limit 5 min)')
    waits.mail = 730
    expect(look()).toEqual([])
    rules = [{ ...LATE, threshold: 360 }]
    look()
    expect(theOnly()).toMatchObject({
      threshold: 360,
      summary: 'mail: oldest job waits 12 min (limit 6 min)',
    })
  })

  it('names the queue that is worst now, and is resolved with the last one', () => {
    waits.media = 600
    look()
    expect(theOnly()).toMatchObject({ queue: 'media', value: 600, transitions: 1 })
    waits.media = 0
    watch(5 * MINUTE)
    expect(theOnly()).toMatchObject({ queue: 'mail', status: 'firing', transitions: 1 })
    waits.mail = 290
    watch(5 * MINUTE)
    expect(theOnly().status).toBe('firing')
    waits.mail = 0
    watch(MINUTE + TICK)
    expect(theOnly()).toMatchObject({ queue: 'mail', status: 'resolved', transitions: 2 })
  })

  it('is resolved when its condition was clearly false for a while, and notifies', () => {
    waits.mail = 0
    watch(MINUTE)
    expect(theOnly()).toMatchObject({ status: 'firing', transitions: 1 })
    watch(TICK)
    expect(theOnly()).toMatchObject({ status: 'resolved', resolvedAt: new Date(now), transitions: 2 })
    expect(theOnly().summary).toBe('mail: oldest job waits 5 min (limit 5 min)')
  })

  it('is resolved after half the time it took to fire, if that is longer', () => {
    rules = [{ ...LATE, forMs: 10 * MINUTE }]
    waits.mail = 0
    watch(5 * MINUTE)
    expect(theOnly().status).toBe('firing')
    watch(TICK)
    expect(theOnly().status).toBe('resolved')
  })

  it('keeps firing while the value hovers around its limit', () => {
    for (let n = 0; n < 20; n++) {
      waits.mail = n % 2 ? 310 : 290
      watch(MINUTE)
    }
    expect(theOnly()).toMatchObject({ status: 'firing', transitions: 1 })
  })

  it('keeps firing without a notification when its condition returns too soon', () => {
    for (let n = 0; n < 20; n++) {
      waits.mail = 0
      watch(MINUTE)
      waits.mail = 301
      look()
    }
    expect(theOnly()).toMatchObject({ status: 'firing', calmSince: null, transitions: 1 })
  })

  it('is not resolved by a gap in evaluations', () => {
    waits.mail = 0
    look()
    lookAfter(60 * MINUTE)
    expect(theOnly()).toMatchObject({ status: 'firing', calmSince: new Date(now) })
    lookAfter(-60 * MINUTE)
    expect(theOnly()).toMatchObject({ status: 'firing', calmSince: new Date(now) })
    watch(MINUTE)
    expect(theOnly().status).toBe('resolved')
  })

  it('stays the same alert after an hour without evaluations', () => {
    lookAfter(60 * MINUTE)
    expect(theOnly()).toMatchObject({ status: 'firing', transitions: 1 })
  })

  it.each([
    ['its rule is disabled', [{ ...LATE, enabled: false }], { mail: 301 }],
    ['its rule is deleted', [], { mail: 301 }],
    ['its queue is gone', [LATE], {}],
  ])('is resolved at once when %s', (_, newRules, newWaits) => {
    rules = newRules
    waits = newWaits
    look()
    expect(theOnly()).toMatchObject({ status: 'resolved', resolvedAt: new Date(now), transitions: 2 })
  })

  it('may fire again once it is resolved', () => {
    waits.mail = 0
    watch(MINUTE + TICK)
    waits.mail = 301
    look()
    expect(alerts.map(({ status }) => status)).toEqual(['resolved', 'pending'])
  })
})

describe('a pending alert', () => {
  it('is removed with its rule', () => {
    waits.mail = 301
    look()
    rules = []
    look()
    expect(alerts).toEqual([])
  })
})

describe('a snoozed alert', () => {
  const until = () => theOnly().snoozed?.until.getTime() ?? 0
  beforeEach(() => {
    fire()
    mark({ snoozed: { until: new Date(now + 10 * MINUTE), by: 'Ada' } })
  })

  it('fires again once when the snooze is over and its condition still holds', () => {
    watch(10 * MINUTE - TICK)
    expect(theOnly()).toMatchObject({ snoozed: { by: 'Ada' }, transitions: 1 })
    watch(TICK)
    expect(theOnly()).toMatchObject({ status: 'firing', snoozed: null, transitions: 2 })
    watch(10 * MINUTE)
    expect(theOnly().transitions).toBe(2)
  })

  it('fires again only when its condition returns, if that was false at the end of the snooze', () => {
    watch(10 * MINUTE - TICK)
    waits.mail = 0
    look()
    watch(TICK)
    expect(now).toBe(until())
    expect(theOnly()).toMatchObject({ status: 'firing', transitions: 1 })
    waits.mail = 301
    look()
    expect(theOnly()).toMatchObject({ snoozed: null, transitions: 2 })
  })

  it('is resolved like any other', () => {
    waits.mail = 0
    watch(2 * MINUTE)
    expect(theOnly()).toMatchObject({ status: 'resolved', snoozed: { by: 'Ada' }, transitions: 2 })
  })
})

describe('an acknowledged alert', () => {
  it('does not notify again until it is resolved', () => {
    fire()
    mark({ acked: { at: new Date(now), by: 'Ada' } })
    watch(60 * MINUTE)
    expect(theOnly()).toMatchObject({ status: 'firing', acked: { by: 'Ada' }, transitions: 1 })
    waits.mail = 0
    watch(2 * MINUTE)
    expect(theOnly()).toMatchObject({ status: 'resolved', acked: { by: 'Ada' }, transitions: 2 })
  })

  it('fires again once when it reaches a queue that was fine when it was acknowledged', () => {
    waits.media = 400
    fire()
    mark({ acked: { at: new Date(now), by: 'Ada' } })
    waits = { mail: 0, media: 0, payments: 301 }
    look()
    expect(theOnly()).toMatchObject({ queue: 'payments', status: 'firing', acked: null, transitions: 2 })
    watch(10 * MINUTE)
    expect(theOnly().transitions).toBe(2)
    mark({ acked: { at: new Date(now), by: 'Ada' } })
    watch(10 * MINUTE)
    expect(theOnly()).toMatchObject({ acked: { by: 'Ada' }, transitions: 2 })
  })

  it('stays acknowledged when another of its queues becomes the worst', () => {
    waits.media = 400
    fire()
    mark({ acked: { at: new Date(now), by: 'Ada' } })
    waits = { mail: 500, media: 0, payments: 301 }
    look()
    expect(theOnly()).toMatchObject({ queue: 'mail', acked: { by: 'Ada' }, transitions: 1 })
    waits = { mail: 0, media: 400 }
    look()
    expect(theOnly()).toMatchObject({ queue: 'media', acked: { by: 'Ada' }, transitions: 1 })
  })
})
