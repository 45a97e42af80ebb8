import { newJobId, prepareJob } from '@oncue/core'
import { expect, test } from 'vitest'
import { dueQueues } from './due-queues.ts'

const NOW = Date.parse('2026-01-01T00:00:00.000Z')
const job = (queue: string, options: Parameters<typeof prepareJob>[2] = {}) =>
  prepareJob('mail_digest', {}, { ...options, queue })

test('jobs that can run now wake their queues, each queue once', () => {
  expect(dueQueues([job('a'), job('b'), job('a')], NOW)).toEqual(['a', 'b'])
})

test('a job dated back, or due within the skew of clocks, wakes its queue', () => {
  const jobs = [job('old', { runAt: new Date(0) }), job('soon', { runAt: new Date(NOW + 900) })]
  expect(dueQueues(jobs, NOW)).toEqual(['old', 'soon'])
})

test('jobs that are delayed or blocked wake nobody', () => {
  const jobs = [
    job('delayed', { delay: 1 }),
    job('scheduled', { runAt: new Date(NOW + 60_000) }),
    job('blocked', { after: [newJobId()] }),
  ]
  expect(dueQueues(jobs, NOW)).toEqual([])
})
