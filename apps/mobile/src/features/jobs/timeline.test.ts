import { describe, expect, it } from 'vitest'
import { jobOf } from '../../testing/job.ts'
import { type Story, type ToldKind, timelineOf } from './timeline.ts'

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

describe('the timeline of a durable job', () => {
  const told = (kind: ToldKind, when: Date, more: Partial<Story['entries'][number]> = {}) => ({
    ...{ at: when, kind, name: null, by: null, until: null, data: null, size: null },
    ...more,
  })
  const storyOf = (...entries: Story['entries']): Story => ({
    ...{ id: jobOf().id, entries, isComplete: true, masked: [] },
  })
  const suspended = (version: number, run: number, started: Date, ended: Date) =>
    event(version, 'run_suspended', ended, { run, worker: 'w1', startedAt: started.toISOString() })
  const created = { created: at('00:00'), runAt: at('00:00') }

  it('says of the run that undid a job what it did, rather than that it failed', () => {
    const failed = { run: 1, startedAt: at('00:01').toISOString() }
    const events = [event(1, 'run_failed', at('00:02'), failed), event(2, 'undoing', at('00:02'))]
    const end = { status: 'failed', run: 2, startedAt: at('00:03'), finishedAt: at('00:04') } as const
    const undone = (...more: typeof events) =>
      timelineOf(jobOf({ ...created, ...end, events: [...events, ...more] })).at(-1)
    expect(undone()).toMatchObject({ kind: 'run', run: 2, outcome: 'failed', hasUndone: true })
    expect(undone(event(3, 'requeued', at('00:02')))).toMatchObject({ run: 2, hasUndone: false })
    const gaveUp = event(3, 'run_failed', at('00:04'), { ...failed, run: 2 })
    expect(undone(gaveUp)).toMatchObject({ run: 2, outcome: 'failed', hasUndone: false })
  })

  it('has the results of steps in place of their events, with the run and how far into it', () => {
    const events = [
      event(1, 'step_finished', at('00:02'), { name: 'charge' }),
      event(2, 'step_finished', at('00:03'), { name: 'unknown' }),
      suspended(3, 1, at('00:01'), at('00:04')),
    ]
    const story = storyOf(told('step', at('00:02'), { name: 'charge', data: { id: 7 } }))
    const entries = timelineOf(jobOf({ status: 'blocked', run: 1, ...created, events }), story)
    expect(entries.slice(1)).toMatchObject([
      { kind: 'told', what: 'step', name: 'charge', data: { id: 7 }, within: { run: 1, ms: 1_000 } },
      { kind: 'step', name: 'unknown' },
      { kind: 'run', run: 1, outcome: 'suspended', waitedMs: 1_000, ranMs: 3_000 },
    ])
  })

  it('says how long it was suspended, and does not count that as waiting for a worker', () => {
    const events = [suspended(1, 1, at('00:01'), at('00:02')), suspended(2, 2, at('10:05'), at('10:06'))]
    const story = storyOf(
      told('asked', at('00:01'), { name: 'approve', data: { question: 'Refund 5 €?' } }),
      told('answer', at('10:01'), { name: 'approve', by: 'ada', data: { value: true } }),
      told('signal', at('20:06'), { name: 'bank', data: { ok: true } }),
    )
    const times = { ...created, startedAt: at('20:08'), finishedAt: at('20:09'), runAt: at('20:06') }
    const entries = timelineOf(jobOf({ status: 'completed', run: 3, ...times, events }), story)
    expect(entries.slice(1)).toMatchObject([
      { kind: 'told', what: 'asked', tookMs: null, data: { question: 'Refund 5 €?' } },
      { kind: 'run', run: 1, outcome: 'suspended' },
      { kind: 'told', what: 'answer', by: 'ada', tookMs: 600_000 },
      { kind: 'run', run: 2, outcome: 'suspended', waitedMs: 4_000 },
      { kind: 'told', what: 'signal', name: 'bank', tookMs: 600_000 },
      { kind: 'run', run: 3, outcome: 'completed', waitedMs: 2_000, ranMs: 1_000 },
    ])
  })

  it('does not guess how long a run waited that ended a sleep', () => {
    const events = [suspended(1, 1, at('00:01'), at('00:02')), suspended(2, 2, at('10:05'), at('10:07'))]
    const story = storyOf(told('slept', at('10:06'), { name: 'settle' }))
    const entries = timelineOf(jobOf({ status: 'blocked', run: 2, ...created, events }), story)
    expect(entries.at(-2)).toMatchObject({ kind: 'told', what: 'slept', tookMs: 604_000 })
    expect(entries.at(-1)).toMatchObject({ kind: 'run', run: 2, waitedMs: null })
  })

  it('ends with what it waits for, and once it is woken with the next run, which is no retry', () => {
    const waits = {
      since: at('00:02').toISOString(),
      for: [{ kind: 'timer', name: 'settle', until: at('09:00').toISOString() }],
    } as const
    const events = [suspended(1, 1, at('00:01'), at('00:02'))]
    const job = jobOf({
      ...{ status: 'pending', run: 1, ...created, runAt: at('09:00'), visibleAt: at('09:00'), events },
      waits: { since: waits.since, for: [...waits.for] },
    })
    expect(timelineOf(job, undefined, +at('08:00')).at(-1)).toMatchObject({ kind: 'waiting', waits })
    expect(timelineOf(job, undefined, +at('09:00')).at(-1)).toMatchObject({ kind: 'next', isRetry: false })
    const ending = { since: waits.since, status: 'failed' } as const
    expect(timelineOf({ ...job, ending }, undefined, +at('08:00')).at(-1)).toMatchObject({ isUndoing: true })
    expect(timelineOf(job, undefined, +at('08:00')).at(-1)).toMatchObject({ isUndoing: false })
  })

  it('keeps the key of each entry when older ones come or the story is read again', () => {
    const story = storyOf(
      told('signal', at('00:01'), { name: 'bank' }),
      told('signal', at('00:02'), { name: 'bank' }),
    )
    const keys = timelineOf(jobOf({ ...created, status: 'blocked' }), story).map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
    const longer = storyOf(...story.entries, told('signal', at('00:03'), { name: 'bank' }))
    expect(timelineOf(jobOf({ ...created, status: 'blocked' }), longer).map(({ key }) => key)).toEqual([
      ...keys,
      'signal bank 2',
    ])
  })
})
