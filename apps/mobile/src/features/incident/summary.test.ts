import { expect, it } from 'vitest'
import { entryOf } from '../../testing/admin.ts'
import { healthOf, NOW, queueOf } from '../../testing/health.ts'
import { incidentSummary } from './summary.ts'

const groupOf = (name: string, retrying: number) => ({
  ...{ fingerprint: name, class: name, message: 'no answer\nat line 1', isNew: false },
  ...{ retrying, undoing: 0, retryingIsExact: true, failed: 40, nextTryAt: null },
  ...{ topics: ['mail_digest'], queues: ['mail'], lastSeen: NOW },
})

it("contains the headline, alerts, errors, queues and people's actions, the oldest first", () => {
  const health = healthOf({
    environment: 'prod',
    summary: { level: 'bad', text: '1 queue failing (worst 14%)' },
    alerts: { firing: 2, acked: 1, snoozed: 0 },
    failures: [groupOf('GatewayTimeoutError', 2_105)],
  })
  const queues = [queueOf('mail', { state: 'failing', waiting: 1_204, failureRate: 0.14 })]
  const at = (time: string) => new Date(`2026-11-16T${time}Z`)
  const deeds = [
    entryOf('3', { at: at('03:11:00'), action: 'jobs.enqueue', target: { topic: 'flaky' } }),
    entryOf('2', { at: at('03:10:00') }),
    entryOf('1', { at: at('03:05:00'), action: 'alerts.ack', target: {} }),
  ]
  const firing = [
    { summary: 'mail: 14% fail', firedAt: at('03:00:00') },
    { summary: 'no worker is alive', firedAt: at('03:01:00') },
  ]
  expect(incidentSummary({ health, firing, queues, deeds, now: NOW.getTime() })).toBe(
    [
      '*PROD: 1 queue failing (worst 14%)* (2026-11-16 03:12 UTC)',
      'Alerts: 2 firing, 1 acknowledged',
      '*Firing*',
      '• mail: 14% fail, since 2026-11-16 03:00 UTC',
      '• no worker is alive, since 2026-11-16 03:01 UTC',
      '*Errors in the last hour*',
      '• GatewayTimeoutError: no answer (mail_digest): 2,105 retrying, 40 gave up',
      '*Queues with problems*',
      '• mail: failing, 1,204 waiting, 14% failing',
      '*Done in the last hour*',
      '• 03:05 UTC ada acknowledged an alert',
      '• 03:10 UTC ada paused mail',
    ].join('\n'),
  )
})

it.each([
  [0.0648, '6.5%'],
  [0.1379, '14%'],
  [0.997, '99%'],
])('writes a share of %d as its headline and its alert do: %s', (failureRate, share) => {
  const text = incidentSummary({
    health: healthOf({ summary: { level: 'bad', text: `1 queue failing (worst ${share})` } }),
    firing: [{ summary: `mail: ${share} of 29 runs failed in 15 min (limit 5%)`, firedAt: NOW }],
    queues: [queueOf('mail', { state: 'failing', waiting: 3, failureRate })],
    deeds: null,
    now: NOW.getTime(),
  })
  expect(text.match(/[\d.]+%/g)).toEqual([share, share, '5%', share])
})

it('gives no share of too few runs, which the screens do not judge either', () => {
  const lineOf = (isRateJudged: boolean) =>
    incidentSummary({
      health: healthOf(),
      queues: [queueOf('mail', { state: 'late', waiting: 40, failureRate: 0.5, isRateJudged })],
      deeds: null,
      now: NOW.getTime(),
    })
      .split('\n')
      .at(-1)
  expect(lineOf(false)).toBe('• mail: late, 40 waiting')
  expect(lineOf(true)).toBe('• mail: late, 40 waiting, 50% failing')
})

it('begins with the alert that it is about', () => {
  const alert = { summary: 'mail: 14% fail (limit 5%)', firedAt: NOW, acked: { by: 'ada' } }
  const [, line] = incidentSummary({
    health: healthOf(),
    alert,
    queues: [],
    deeds: null,
    now: NOW.getTime(),
  }).split('\n')
  expect(line).toBe('Alert: mail: 14% fail (limit 5%), since 2026-11-16 03:12 UTC, acknowledged by ada')
})

it('says how many more kinds of errors there are, and leaves out what is empty', () => {
  const failures = ['A', 'B', 'C', 'D', 'E', 'F', 'G'].map((name) => groupOf(name, 1))
  const text = incidentSummary({
    health: healthOf({ failures }),
    queues: [],
    deeds: null,
    now: NOW.getTime(),
  })
  expect(text).toMatch(/• and 2 more kinds$/)
  expect(text).not.toMatch(/Queues|Done|Alerts/)
})

it('names what people did about jobs and queues, and how much was left out', () => {
  const noise = ['session.start', 'channels.test', 'tokens.create'].map((action, n) =>
    entryOf(`noise ${n}`, { action, target: {} }),
  )
  const done = Array.from({ length: 17 }, (_, n) =>
    entryOf(`deed ${n}`, { action: 'alerts.ack', target: {} }),
  )
  const text = incidentSummary({
    health: healthOf({}),
    queues: [],
    deeds: [...noise, ...done],
    now: NOW.getTime(),
  })
  const [, list = ''] = text.split('*Done in the last hour*\n')
  expect(list.split('\n')).toHaveLength(16)
  expect(list).toMatch(/^• 2 earlier actions\n/)
  expect(list).not.toMatch(/signed in|test|token/i)
})
