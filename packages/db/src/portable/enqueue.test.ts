import { newJobId, prepareJob } from '@oncue/core'
import { expect, test } from 'vitest'
import { dueQueues, inOrder, wakeNames } from './enqueue.ts'

const node = (id: string, ...after: string[]) => ({ id, after })
const idsOf = (nodes: readonly { id: string }[]) => nodes.map(({ id }) => id)

test('each job comes after its parents, in whatever order they were given', () => {
  const nodes = [node('last', 'b', 'c'), node('b', 'a'), node('c', 'a'), node('a')]
  expect(idsOf(inOrder(nodes))).toEqual(['a', 'b', 'c', 'last'])
})

test('jobs of other calls close no cycle', () => {
  expect(idsOf(inOrder([node('a', 'elsewhere'), node('b')]))).toEqual(['a', 'b'])
})

test.each([
  ['itself', [node('a', 'a')], ['a']],
  ['another that waits for it', [node('free'), node('a', 'b'), node('b', 'a')], ['a', 'b']],
  ['one that waits for it through others', [node('a', 'c'), node('b', 'a'), node('c', 'b')], ['a', 'b', 'c']],
])('a job that waits for %s is refused', (_, nodes, jobIds) => {
  expect(() => inOrder(nodes)).toThrow(
    expect.objectContaining({ code: 'DEPENDENCY_CYCLE', details: { jobIds } }),
  )
})

test('a chain of 100,000 jobs does not overflow the stack', () => {
  const chain = Array.from({ length: 100_000 }, (_, n) => node(`${n}`, `${n + 1}`))
  expect(inOrder(chain)[0]?.id).toBe('99999')
})

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

test('jobs that are delayed or blocked wake no worker', () => {
  const jobs = [
    job('delayed', { delay: 1 }),
    job('scheduled', { runAt: new Date(NOW + 60_000) }),
    job('blocked', { after: [newJobId()] }),
  ]
  expect(dueQueues(jobs, NOW)).toEqual([])
})

test('delayed and blocked jobs are announced to workers that rest', () => {
  const later = [job('a', { delay: 1 }), job('b', { runAt: new Date(NOW + 60_000) })]
  expect(wakeNames([job('now'), ...later], NOW)).toEqual(['now', ':later'])
  expect(wakeNames([job('now'), job('blocked', { after: [newJobId()] })], NOW)).toEqual(['now', ':later'])
  expect(wakeNames([job('now')], NOW)).toEqual(['now'])
})
