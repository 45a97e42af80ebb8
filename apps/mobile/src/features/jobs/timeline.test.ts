import { describe, expect, it } from 'vitest'
import { jobOf } from '../../testing/job.ts'
import { logOf, mergeEvents, shareOf, timelineOf, withMessage } from './timeline.ts'

const at = (time: string) => new Date(`2026-11-16T03:${time}Z`)
const event = (version: number, type: string, created: Date, data: unknown = null) => ({
  ...{ jobId: jobOf().id, version, type, created, data },
})

describe('the timeline', () => {
  it('takes a plain run from the job itself', () => {
    const times = {
      created: at('00:00'),
      runAt: at('00:00'),
      startedAt: at('00:02'),
      finishedAt: at('00:05'),
    }
    const entries = timelineOf(jobOf({ status: 'completed', run: 1, ...times }))
    expect(entries).toMatchObject([
      { kind: 'enqueued', at: at('00:00') },
      { kind: 'run', run: 1, outcome: 'completed', waitedMs: 2_000, ranMs: 3_000 },
    ])
  })

  it('does not count the time before a job is due as waiting', () => {
    const times = { created: at('00:00'), runAt: at('05:00'), startedAt: at('05:01'), finishedAt: null }
    const entries = timelineOf(jobOf({ status: 'processing', run: 1, lockedBy: 'w1', ...times }))
    expect(entries.at(-1)).toMatchObject({ outcome: 'running', waitedMs: 1_000, ranMs: null, worker: 'w1' })
  })

  it('keeps the order and the waiting time of a running job that is asked to stop', () => {
    const times = { created: at('00:00'), runAt: at('00:00'), startedAt: at('00:02') }
    const events = [event(1, 'cancel_requested', at('00:05'), { by: 'anna' })]
    const running = jobOf({ status: 'processing', run: 1, cancelAt: at('00:05'), ...times, events })
    expect(timelineOf(running)).toMatchObject([
      { kind: 'enqueued' },
      { kind: 'run', run: 1, outcome: 'running', waitedMs: 2_000 },
      { kind: 'done-by', what: 'cancel_requested', by: 'anna' },
    ])
    const stopped = jobOf({ status: 'cancelled', run: 1, ...times, finishedAt: at('00:08'), events })
    expect(timelineOf(stopped)).toMatchObject([
      { kind: 'enqueued' },
      { kind: 'done-by', what: 'cancel_requested', by: 'anna' },
      { kind: 'run', run: 1, outcome: 'cancelled', waitedMs: 2_000, ranMs: 6_000 },
    ])
    const failed = { run: 1, worker: 'w1', startedAt: at('00:02').toISOString() }
    const retried = [...events, event(2, 'run_failed', at('00:06'), failed)]
    expect(timelineOf(jobOf({ status: 'cancelled', run: 1, ...times, events: retried }))[2]).toMatchObject({
      ...{ kind: 'run', outcome: 'failed', waitedMs: 2_000, ranMs: 4_000 },
    })
  })

  it('names the job that replaced it, unless it replaced itself', () => {
    const events = [
      event(1, 'replaced', at('00:01')),
      event(2, 'replaced', at('00:02'), { jobId: 'successor' }),
    ]
    expect(timelineOf(jobOf({ status: 'cancelled', events })).slice(1)).toMatchObject([
      { kind: 'replaced', by: null },
      { kind: 'replaced', by: 'successor' },
    ])
  })

  it("contains every failed, crashed, snoozed or interrupted run, people's actions, and the next run", () => {
    const error = { class: 'SmtpTimeout', message: 'no answer', fingerprint: 'f' }
    const failed = { run: 1, worker: 'w1', startedAt: at('00:01').toISOString(), error }
    const events = [
      event(1, 'log', at('00:01'), { level: 'info', message: 'sending' }),
      event(2, 'run_failed', at('00:04'), failed),
      event(3, 'step_finished', at('00:04'), { name: 'render' }),
      event(4, 'run_crashed', at('00:09'), { run: 2, worker: 'w2', startedAt: at('00:06').toISOString() }),
      event(5, 'run_snoozed', at('00:12'), { run: 3, startedAt: at('00:10').toISOString(), delayMs: 1 }),
      event(6, 'run_interrupted', at('00:15'), { run: 4, startedAt: at('00:14').toISOString() }),
      event(7, 'requeued', at('01:00'), { by: 'anna' }),
      event(8, 'sent', at('01:01'), { to: 3 }),
    ]
    const job = jobOf({ status: 'pending', run: 4, created: at('00:00'), visibleAt: at('09:00'), events })
    expect(timelineOf(job)).toMatchObject([
      { kind: 'enqueued' },
      { kind: 'run', run: 1, outcome: 'failed', waitedMs: 1_000, ranMs: 3_000, worker: 'w1', error },
      { kind: 'step', name: 'render' },
      { kind: 'run', run: 2, outcome: 'crashed', waitedMs: 2_000, ranMs: 3_000, error: null },
      { kind: 'run', run: 3, outcome: 'snoozed', snoozedMs: 1, waitedMs: 1_000, ranMs: 2_000 },
      { kind: 'run', run: 4, outcome: 'interrupted', waitedMs: 2_000, ranMs: 1_000 },
      { kind: 'done-by', what: 'requeued', by: 'anna' },
      { kind: 'event', type: 'sent', data: { to: 3 } },
      { kind: 'next', isRetry: true, at: at('09:00') },
    ])
  })
})

it('sorts log lines by the time at which they were written', () => {
  const lines = logOf([
    event(1, 'log', at('00:03'), { message: 'second' }),
    event(2, 'log', at('00:01'), { message: 'first' }),
  ])
  expect(lines.map(({ message }) => message)).toEqual(['first', 'second'])
})

it('finds the log lines', () => {
  const lines = logOf([
    event(1, 'log', at('00:01'), { level: 'warn', message: 'slow', fields: { ms: 900 } }),
    event(2, 'sent', at('00:02')),
  ])
  expect(lines).toEqual([
    { version: 1, at: at('00:01'), level: 'warn', message: 'slow', fields: { ms: 900 } },
  ])
})

it.each([
  { progress: 0.4, share: 0.4 },
  { progress: 40, share: 0.4 },
  { progress: { percent: 40 }, share: 0.4 },
  { progress: { done: 4, total: 10 }, share: 0.4 },
  { progress: { current: 12, total: 10 }, share: 1 },
  { progress: { done: 4, total: 0 }, share: null },
  { progress: 'half', share: null },
  { progress: null, share: null },
])('$progress is a share of $share', ({ progress, share }) => {
  expect(shareOf(progress)).toBe(share)
})

describe('stream messages', () => {
  const one = event(1, 'a', at('00:01'))
  const two = event(2, 'b', at('00:02'))

  it.each([
    { known: [one], others: [two], expected: [one, two] },
    { known: [one, two], others: [one], expected: [one, two] },
    { known: [two], others: [one], expected: [one, two] },
    { known: [], others: [], expected: [] },
  ])('are kept once, in order', ({ known, others, expected }) => {
    expect(mergeEvents(known, others)).toEqual(expected)
  })

  it('of type state change only the fields that they carry', () => {
    const job = jobOf({ status: 'pending', run: 0, topic: 'mail_digest' })
    const state = { id: job.id, status: 'processing', run: 1, progress: 0.5, updated: at('00:03') } as const
    expect(withMessage(job, { type: 'state', state })).toMatchObject({
      ...{ topic: 'mail_digest', status: 'processing', run: 1, progress: 0.5 },
    })
  })
})
