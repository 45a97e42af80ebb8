import { describe, expect, it } from 'vitest'
import { deedOf, deviceOf, reasonOf, subjectOf, targetOf } from './words.ts'

const plain = (text: string) => text.replaceAll('\u00a0', ' ')

describe('an audit entry as a sentence', () => {
  it.each([
    ['queues.pause', { queue: 'mail' }, 1, 'paused mail'],
    ['jobs.requeue', { ids: ['a'] }, 1, 'retried 1 job'],
    [
      'jobs.requeueWithPayload',
      { ids: ['a'], topic: 'mail' },
      1,
      'retried 1 job of mail with another payload',
    ],
    ['jobs.enqueue', { topic: 'mail_digest', ids: ['a'] }, 1, 'enqueued 1 job of mail_digest'],
    ['jobs.answer', { topic: 'refund', question: 'approve' }, 1, 'answered the question approve'],
    ['jobs.signal', { topic: 'refund', signal: 'bank' }, 1, 'sent the signal bank'],
    ['bulkOperations.run', { action: 'requeue' }, 312, 'started retrying 312 jobs'],
    ['bulkOperations.end', { action: 'requeue' }, 309, 'retried 309 jobs in bulk'],
    ['bulkOperations.stop', { action: 'cancel' }, 12, 'stopped a bulk operation after 12 jobs'],
    ['alerts.ack', { id: 'a' }, 1, 'acknowledged an alert'],
    ['alerts.updateRule', { id: 'a' }, 1, 'changed a rule'],
    ['alerts.createRule', { name: 'within a minute' }, 1, 'added rule “within a minute”'],
    ['pairings.exchange', { name: 'The phone' }, 1, 'paired device “The phone”'],
    ['session.create', { id: 'a' }, 1, 'signed in'],
    ['session.refused', { reason: 'UNAUTHORIZED' }, 0, 'failed to sign in'],
    ['pairings.refused', { reason: 'PAIRING_REFUSED' }, 0, 'entered a wrong pairing code'],
    ['tokens.revoke', { id: 't', name: 'laptop', devices: 2 }, 1, 'revoked token “laptop” and its 2 devices'],
    ['tokens.revoke', { id: 't', name: 'ci', devices: 0 }, 1, 'revoked token “ci”'],
    ['tokens.revoke', { id: 't', devices: 1 }, 1, 'revoked a token and its 1 device'],
    ['moons.land', null, null, 'moons.land'],
  ])('%s', (action, target, many, words) => {
    expect(plain(deedOf({ action, target, count: many }))).toBe(words)
  })
})

describe('the target of an audit entry', () => {
  it.each([
    ['queues.pause', { queue: 'mail' }, ''],
    ['jobs.enqueue', { topic: 'mail_digest', ids: ['a'] }, 'a'],
    ['jobs.cancel', { ids: ['a', 'b', 'c'] }, 'a, b, …'],
    ['jobs.requeue', { filter: { queue: 'mail', status: 'failed' } }, 'failed jobs in “mail”'],
    [
      'bulkOperations.run',
      { id: 'o', action: 'requeue', filter: { queue: 'mail', status: 'failed' }, spreadSeconds: 600 },
      'failed jobs in “mail” · spread over 10 min',
    ],
    [
      'bulkOperations.run',
      { id: 'o', filter: { fingerprint: 'ab' }, filterError: { class: 'TypeError', message: 'no user' } },
      'jobs with TypeError · no user',
    ],
    ['bulkOperations.stop', { id: 'o', action: 'cancel', skipped: { BUSY: 2, CHANGED: 1 } }, 'skipped 3'],
    ['schedules.save', { name: 'nightly', cron: '0 3 * * *', topic: 'mail' }, 'mail · 0 3 * * *'],
    ['alerts.createRule', { id: 'r', name: 'late', kind: 'oldest_waiting' }, 'oldest waiting'],
    ['alerts.ack', { id: '019a8f00-0000-7000-8000-0000deadbeef' }, '…deadbeef'],
    ['session.create', { id: 's' }, ''],
    ['tokens.create', { id: 't', name: 'ci', role: 'operator' }, 'as operator'],
    ['channels.test', { id: 'c', delivered: false }, 'not delivered'],
    ['moons.land', null, ''],
  ])('%s', (action, target, words) => {
    expect(plain(targetOf({ action, target }))).toBe(words)
  })
})

it.each([
  ['session.refused', { reason: 'UNAUTHORIZED' }, 'The token is wrong, expired or revoked'],
  ['pairings.refused', { reason: 'PAIRING_REFUSED' }, 'The code is wrong, used or expired'],
  ['session.refused', { reason: 'MOON' }, 'MOON'],
  ['queues.pause', { queue: 'mail' }, null],
])('%s of %j has a reason in words', (action, target, words) => {
  expect(reasonOf({ action, target })).toBe(words)
})

describe('the device of an audit entry', () => {
  const agent =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36'
  const actor = (kind: string) => ({ id: 'a', name: 'ada', kind })

  it('is the browser of a session', () => {
    expect(deviceOf({ actor: actor('session'), userAgent: agent, ip: null })).toBe('from Chrome on Linux')
  })

  it('is the address of a caller without credentials', () => {
    const anonymous = { actor: actor('anonymous'), ip: '10.0.0.7' }
    expect(deviceOf({ ...anonymous, userAgent: null })).toBe('from 10.0.0.7')
    expect(deviceOf({ ...anonymous, userAgent: agent })).toBe('from 10.0.0.7, Chrome on Linux')
    expect(deviceOf({ ...anonymous, userAgent: null, ip: null })).toBe('from an unknown address')
  })

  it('is the kind of credential where nothing else is known', () => {
    expect(deviceOf({ actor: actor('jwt'), userAgent: null, ip: null })).toBe('with a JWT')
    expect(deviceOf({ actor: actor('token'), userAgent: 'node', ip: null })).toBe('with a token')
    expect(deviceOf({ actor: actor('device'), userAgent: null, ip: null })).toBe('from a paired device')
  })
})

describe('what an entry is about', () => {
  it.each([
    ['bulkOperations.end', { id: 'b1' }, { param: 'bulkOperationId', value: 'b1' }],
    ['jobs.runNow', { ids: ['j1'] }, { param: 'jobId', value: 'j1' }],
    ['queues.pause', { queue: 'mail' }, { param: 'queue', value: 'mail' }],
    ['alerts.ack', { id: 'a1' }, { param: 'alertId', value: 'a1' }],
  ])('%s of %j can be opened', (action, target, subject) => {
    expect(subjectOf({ action, target })).toMatchObject(subject)
  })

  it.each([
    ['jobs.delete', { ids: ['j1'] }],
    ['jobs.cancel', { ids: ['j1', 'j2'] }],
    ['alerts.updateRule', { id: 'r1' }],
    ['settings.set', { name: 'x' }],
  ])('%s of %j has no page', (action, target) => {
    expect(subjectOf({ action, target })).toBeNull()
  })
})
