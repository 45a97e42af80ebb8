import { describe, expect, it } from 'vitest'
import { jobOf } from '../../testing/job.ts'
import { logOf, mergeEvents, shareOf, withMessage } from './job-stream.ts'

const at = (time: string) => new Date(`2026-11-16T03:${time}Z`)
const event = (version: number, type: string, created: Date, data: unknown = null) => ({
  ...{ jobId: jobOf().id, version, type, created, data },
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
    const state = {
      id: job.id,
      topic: job.topic,
      status: 'processing',
      run: 1,
      progress: 0.5,
      updated: at('00:03'),
    } as const
    expect(withMessage(job, { type: 'state', state })).toMatchObject({
      ...{ topic: 'mail_digest', status: 'processing', run: 1, progress: 0.5 },
    })
  })
})
