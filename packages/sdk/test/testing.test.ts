import { expect, expectTypeOf, it } from 'vitest'
import { createTestClient } from '../src/testing.ts'
import { jobs } from './harness.ts'

it('a test client records what was enqueued', async () => {
  const client = createTestClient({ jobs })
  const id = await client.jobs.enqueue('mail_digest', { userId: '1' }, { delay: 5 })
  const [extract, embed] = await client.jobs.chain(['extract', { url: 'x' }], ['embed', { size: 1 }])
  await client.jobs.enqueueMany([{ topic: 'embed', payload: { size: 2 }, queue: 'high' }])
  expect(client.enqueued).toEqual([
    {
      ...{ id, topic: 'mail_digest', payload: { userId: '1' }, delay: 5, queue: 'mail', priority: 5 },
      ...{ timeoutMs: 5_000, maxRetries: 1, retry: { strategy: 'fixed', baseDelay: 0 } },
    },
    { id: extract, topic: 'extract', payload: { url: 'x' } },
    { id: embed, topic: 'embed', payload: { size: 1 }, after: [extract] },
    { id: expect.any(String), topic: 'embed', payload: { size: 2 }, queue: 'high' },
  ])
  const [first] = client.enqueued
  if (first?.topic === 'mail_digest') expectTypeOf(first.payload).toEqualTypeOf<{ userId: string }>()
  client.clear()
  expect(client.enqueued).toEqual([])
})

it('a test client records batches and flows', async () => {
  const client = createTestClient({ jobs })
  const embed = { topic: 'embed', payload: { size: 1 } } as const
  const then = embed
  const { ids, thenId, onFailureId } = await client.jobs.batch([embed, embed], { then })
  expect([thenId, onFailureId]).toEqual([expect.any(String), null])
  const flow = await client.jobs.flow({ nodes: { a: embed, b: embed }, edges: [['a', 'b']] })
  expect(client.enqueued).toMatchObject([
    { id: ids[0] },
    { id: ids[1] },
    { id: thenId, after: ids },
    { id: flow.a },
    { id: flow.b, after: [flow.a] },
  ])
})

it('it refuses what the real client refuses', async () => {
  const client = createTestClient({ jobs })
  // @ts-expect-error the payload has no userId
  await expect(client.jobs.enqueue('mail_digest', {})).rejects.toMatchObject({ code: 'INVALID_PAYLOAD' })
  // @ts-expect-error there is no such topic
  await expect(client.jobs.enqueue('mail', {})).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' })
  expect(client.enqueued).toEqual([])
})

it('it waits for results that the test provides, parsed by their schema', async () => {
  const client = createTestClient({
    jobs,
    results: { mail_digest: ({ userId }) => ({ sent: Number(userId), at: '2026-01-08T12:00:00Z' }) },
  })
  const id = await client.jobs.enqueue('mail_digest', { userId: '3' })
  expect(await client.jobs.wait(id)).toEqual({ sent: 3, at: new Date('2026-01-08T12:00:00Z') })
  const other = await client.jobs.enqueue('embed', { size: 1 })
  await expect(client.jobs.wait(other)).rejects.toMatchObject({ code: 'INVALID_STATE' })
  await expect(client.jobs.wait('no job')).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
})

it('it responds to other calls with what the test provides, and names a response that is missing', async () => {
  const client = createTestClient({
    answers: {
      'topics.list': () => [],
      async *'health.watch'() {},
    },
  })
  expect(await client.topics.list()).toEqual([])
  for await (const _ of client.health.watch()) throw new Error('there are no messages')
  await expect(client.queues.list()).rejects.toMatchObject({
    code: 'INVALID_STATE',
    hint: expect.stringContaining("answers: { 'queues.list'"),
  })
  // @ts-expect-error there is no such call
  createTestClient({ answers: { 'queues.lst': () => [] } })
})
