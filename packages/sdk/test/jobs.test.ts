import { defineWorkers, isOncueError, newJobId, type OncueError, PermanentError } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createClient } from '../src/index.ts'
import { createTestClient } from '../src/testing.ts'
import { DIALECTS, jobs, startWorld } from './harness.ts'

describe.each(DIALECTS)('jobs, on %s', (dialect) => {
  it('are enqueued with the options of their definition, and read back', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const id = await client.jobs.enqueue('mail_digest', { userId: '123' })
    expect(await client.jobs.get(id)).toMatchObject({
      id,
      topic: 'mail_digest',
      payload: { userId: '123' },
      status: 'pending',
      queue: 'mail',
      priority: 5,
      timeoutMs: 5_000,
      maxRetries: 1,
      retry: { strategy: 'fixed', baseDelay: 0 },
      created: expect.any(Date),
      finishedAt: null,
    })
  })

  it('are enqueued with every option', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const parentId = await client.jobs.enqueue('embed', { size: 1 })
    const runAt = new Date('2039-01-08T12:00:00.123Z')
    const id = await client.jobs.enqueue(
      'mail_digest',
      { userId: '123' },
      {
        ...{ queue: 'high', priority: -1, timeoutMs: 7, retry: { max: 9, maxDelay: 5 }, runAt },
        ...{
          unique: { key: 'u', within: 5_000 },
          idempotencyKey: 'i',
          concurrencyKey: 'c',
          concurrencyLimit: 2,
        },
        ...{ after: [parentId], onParentFailure: 'go_on', parentId, meta: { agent: 'a1' } },
        trace: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      },
    )
    expect(await client.jobs.get(id)).toMatchObject({
      ...{ queue: 'high', priority: -1, timeoutMs: 7, maxRetries: 9, runAt, status: 'blocked', depsLeft: 1 },
      ...{ uniqueKey: 'u', concurrencyKey: 'c', concurrencyLimit: 2, parentId, meta: { agent: 'a1' } },
      ...{ retry: { strategy: 'quadratic', maxDelay: 5 }, trace: expect.stringMatching(/^00-4bf9/) },
    })
    const again = { idempotencyKey: 'i' }
    expect(await client.jobs.enqueue('mail_digest', { userId: 'another' }, again)).toBe(id)
  })

  it('are enqueued as a batch with what follows, and as a flow, and shown as a tree', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const embed = { topic: 'embed', payload: { size: 1 } } as const
    const [then, onFailure] = [{ ...embed, priority: 2 }, embed]
    const { ids, thenId, onFailureId } = await client.jobs.batch([embed, embed], { then, onFailure })
    expect(await client.jobs.get(thenId ?? '')).toMatchObject({ status: 'blocked', depsLeft: 2, priority: 2 })
    const tree = await client.jobs.tree(ids[1] ?? '')
    expect(tree.jobs.map(({ id }) => id)).toEqual([...ids, thenId, onFailureId].sort())
    expect(tree).toMatchObject({
      isComplete: true,
      counts: { pending: 2, blocked: 2 },
      jobs: [{ created: expect.any(Date) }, {}, {}, {}],
    })

    const nodes = { extract: { topic: 'extract', payload: { url: 'x' } }, embed } as const
    const flow = await client.jobs.flow({ nodes, edges: [['extract', 'embed']] })
    expect(await client.jobs.get(flow.embed)).toMatchObject({ topic: 'embed', status: 'blocked' })
    const cycle = client.jobs.flow({
      nodes,
      edges: [
        ['extract', 'embed'],
        ['embed', 'extract'],
      ],
    })
    await expect(cycle).rejects.toMatchObject({ code: 'DEPENDENCY_CYCLE' })
    const wrong = { ...embed, payload: { size: 'x' } }
    await expect(client.jobs.batch([embed, wrong as never], { onFailure })).rejects.toMatchObject({
      code: 'INVALID_PAYLOAD',
      message: expect.stringMatching(/^jobs\[1\]: /),
    })
  })

  it('get signals, each key once, typed by their topic', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const id = await client.jobs.enqueue('embed', { size: 1 })
    await client.jobs.signal(id, 'bank', { ok: true }, { key: 'once' })
    await client.jobs.signal(id, 'bank', { ok: false }, { key: 'once' })
    await client.jobs.signal(id, 'bank', { ok: false })
    await client.jobs.cancel(id)
    await expect(client.jobs.signal(id, 'bank', { ok: true })).rejects.toMatchObject({ code: 'JOB_FINISHED' })
    const compiled = () => [
      // @ts-expect-error no such signal
      client.jobs.signal(id, 'visa', { ok: true }),
      // @ts-expect-error does not fit
      client.jobs.signal(id, 'bank', { ok: 1 }),
    ]
    expect(compiled).toBeTypeOf('function')
  })

  it('ask people, are answered, and tell their story', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const ran = defineWorkers(jobs, {
      async embed(_, ctx) {
        const answer = await ctx.ask('approve', 'Go on?', z.object({ ok: z.boolean() }))
        if (!answer.timedOut) await ctx.step('told', () => answer.value.ok)
      },
    })
    const id = await client.jobs.enqueue('embed', { size: 1 })
    await world.work(ran)
    await expect
      .poll(() => client.jobs.questions({ id }))
      .toMatchObject([{ name: 'approve', topic: 'embed' }])
    await expect(client.jobs.answer(id, 'approve', { ok: 1 })).rejects.toMatchObject({
      code: 'INVALID_ANSWER',
    })
    await client.jobs.answer(id, 'approve', { ok: true }, { key: 'once' })
    await client.jobs.answer(id, 'approve', { ok: true }, { key: 'once' })
    await client.jobs.wait(id)
    const { entries } = await client.jobs.timeline(id)
    expect(entries.filter(({ kind }) => kind !== 'event')).toMatchObject([
      ...[{ kind: 'created' }, { kind: 'asked' }, { kind: 'answer', data: { value: { ok: true } } }],
      ...[
        { kind: 'step', name: 'told', data: true },
        { kind: 'finished', name: 'completed' },
      ],
    ])
  })

  it('can share a key with other topics, and start beside the job that they replace, if the options say so', async () => {
    const { jobs: calls } = (await startWorld(dialect)).client()
    const shared = { unique: { key: 'all', scope: 'all' } } as const
    const first = await calls.enqueue('embed', { size: 1 }, shared)
    expect(await calls.enqueue('mail_digest', { userId: '1' }, shared)).toBe(first)

    const test = createTestClient({ jobs })
    const unique = { key: 'k', onConflict: 'replace', ifRunning: 'start' } as const
    await test.jobs.enqueue('embed', { size: 1 }, { unique })
    expect(test.enqueued).toMatchObject([{ unique }])
  })

  it('are left alone by a call with an invalid Date, whatever else it asks for', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const id = await client.jobs.enqueue('embed', { size: 1 })
    await client.jobs.cancel(id)
    const wrong = new Date('31.12.2026 10:00')
    const filter = { status: 'cancelled', createdFrom: wrong } as const
    const valid = { action: 'delete', filter: { status: 'cancelled' }, asOf: wrong } as const
    for (const send of [
      () => client.jobs.delete({ filter }),
      () => client.jobs.requeue({ filter: { status: 'cancelled' }, asOf: wrong }),
      () => client.jobs.list(filter),
      () => client.jobs.failures({ since: wrong }),
      () => client.bulkOperations.preview({ action: 'delete', filter }),
      () => client.bulkOperations.run({ ...valid, expectedCount: 1, idempotencyKey: 'k' }),
      () => createTestClient({ jobs }).audit.list({ from: wrong }),
    ])
      await expect(send()).rejects.toMatchObject({ code: 'INVALID_DATE' })
    // The call beside it, in the same batch, is not concerned.
    const [refused, read] = await Promise.allSettled([client.jobs.list(filter), client.jobs.get(id)])
    expect([refused.status, read.status]).toEqual(['rejected', 'fulfilled'])
    expect(await client.jobs.get(id)).toMatchObject({ status: 'cancelled' })
  })

  it('are enqueued by the thousand, and those that the API refuses are named', async () => {
    const world = await startWorld(dialect)
    const admin = world.client()
    const { secret } = await admin.tokens.create({
      name: 'mail',
      role: 'producer',
      allowedTopics: ['mail_digest'],
    })
    const many = Array.from({ length: 1_100 }, (_, n) => ({
      topic: 'mail_digest' as const,
      payload: { userId: `${n}` },
    }))
    const wrong = { topic: 'embed' as const, payload: { size: 1 } }
    const client = world.client({ token: () => Promise.resolve(secret) })
    const report = await client.jobs.enqueueMany([...many, wrong])
    expect(report).toMatchObject({ stored: 1_100, refused: 1 })
    expect(report.results).toHaveLength(1_101)
    expect(report.results[0]).toEqual({ id: expect.any(String), created: true, replaced: false })
    const refusal = report.results.at(-1)?.error
    expect(isOncueError(refusal, 'TOPIC_NOT_ALLOWED')).toBe(true)
    expect(await admin.jobs.stats({ topic: 'mail_digest' })).toMatchObject({ pending: 1_100 })

    await expect(
      client.jobs.enqueueMany(
        [many[0], wrong].filter((item) => item !== undefined),
        { atomic: true },
      ),
    ).rejects.toMatchObject({
      code: 'TOPIC_NOT_ALLOWED',
      details: { index: 1 },
    })
    expect(await admin.jobs.stats()).toMatchObject({ pending: 1_100 })
  })

  it('can be waited for: the result has its type, and was parsed by its schema', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const id = await client.jobs.enqueue('mail_digest', { userId: '123' })
    const result = client.jobs.wait(id)
    await world.work(
      defineWorkers(jobs, {
        mail_digest: async () => ({ sent: 3, at: '2026-01-08T12:00:00.000Z' }),
        extract: async () => ({ text: '' }),
        embed: async () => null,
      }),
    )
    expect(await result).toEqual({ sent: 3, at: new Date('2026-01-08T12:00:00.000Z') })
    await expect(client.jobs.wait(id, { topic: 'embed' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('can be waited for without a result: failed, cancelled, too slow, aborted, unknown', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const waiting = await client.jobs.enqueue('embed', { size: 1 })
    await expect(client.jobs.wait(waiting, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' })

    const leave = new AbortController()
    const left = client.jobs.wait(waiting, { signal: leave.signal })
    leave.abort(new Error('gone home'))
    await expect(left).rejects.toThrow('gone home')
    await expect(client.jobs.wait(waiting, { signal: leave.signal })).rejects.toThrow('gone home')

    await client.jobs.cancel(waiting)
    await expect(client.jobs.wait(waiting)).rejects.toMatchObject({ code: 'JOB_CANCELLED' })
    await expect(client.jobs.wait(newJobId())).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })

    await world.work({
      async extract() {
        throw new PermanentError('no such page')
      },
    })
    const id = await client.jobs.enqueue('extract', { url: 'x' })
    const error = await client.jobs.wait(id).catch((thrown: unknown) => thrown as OncueError)
    expect(error).toMatchObject({
      code: 'JOB_FAILED',
      message: expect.stringContaining('no such page'),
      details: { jobId: id, topic: 'extract', error: { message: 'no such page' } },
    })
  })

  it('can be watched until they end', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const id = await client.jobs.enqueue('embed', { size: 1 })
    const seen: string[] = []
    for await (const message of client.jobs.watch(id)) {
      seen.push(message.type === 'state' ? message.state.status : message.event.type)
      if (seen.length === 1) {
        await world.work({
          async embed(_, ctx) {
            await ctx.emit('node_started', { n: 1 })
            return null
          },
        })
      }
    }
    expect(seen[0]).toBe('pending')
    expect(seen).toContain('node_started')
    expect(seen.at(-1)).toBe('completed')
    await expect(client.jobs.watch(newJobId())[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'JOB_NOT_FOUND',
    })
  })

  it('can stop being watched', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const id = await client.jobs.enqueue('embed', { size: 1 })
    for await (const _ of client.jobs.watch(id)) break
    const leave = new AbortController()
    const watching = (async () => {
      for await (const _ of client.jobs.watch(id, { signal: leave.signal }))
        leave.abort(new Error('gone home'))
    })()
    await expect(watching).rejects.toThrow('gone home')
  })

  it('are chained: each runs after the one before, and all are stored or none', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const order: string[] = []
    const [first, second, third] = await client.jobs.chain(
      ['extract', { url: 'x' }],
      ['embed', { size: 1 }, { priority: 10 }],
      ['mail_digest', { userId: '1' }],
    )
    expect((await client.jobs.get(second)).status).toBe('blocked')
    await world.work(
      defineWorkers(jobs, {
        async extract() {
          order.push('extract')
          return { text: 'x' }
        },
        async embed() {
          order.push('embed')
        },
        async mail_digest() {
          order.push('mail_digest')
          return { sent: 1, at: new Date(0).toISOString() }
        },
      }),
    )
    expect((await client.jobs.wait(third)).sent).toBe(1)
    expect(order).toEqual(['extract', 'embed', 'mail_digest'])
    expect((await client.jobs.wait(first)).text).toBe('x')

    const before = await client.jobs.list()
    const unknown = { after: [newJobId()] }
    await expect(
      client.jobs.chain(['extract', { url: 'x' }], ['embed', { size: 1 }, unknown]),
    ).rejects.toMatchObject({ code: 'UNKNOWN_PARENT' })
    expect((await client.jobs.list()).total).toBe(before.total)
  })

  it('are acted on by id, by ids and by a filter', async () => {
    const world = await startWorld(dialect)
    const { jobs: calls } = world.client()
    const [a, b, c] = await calls.chain(
      ['embed', { size: 1 }],
      ['embed', { size: 2 }],
      ['embed', { size: 3 }],
    )
    expect(await calls.cancel([a, b])).toEqual({ done: 2, skipped: {} })
    expect(await calls.requeue(a)).toMatchObject({ done: 1 })
    expect(await calls.cancel({ filter: { topic: 'embed', status: 'pending' } })).toMatchObject({ done: 1 })
    expect(await calls.delete(c)).toMatchObject({ done: 0 })
    const later = await calls.enqueue('embed', { size: 4 }, { delay: 3_600_000 })
    expect(await calls.runNow(later)).toEqual({ done: 1, skipped: {} })
    const { events } = await calls.events(a, { limit: 10 })
    expect(events.map(({ type }) => type)).toContain('requeued')
  })

  it('get another payload, if they are as they were read', async () => {
    const world = await startWorld(dialect)
    const { jobs: calls } = world.client()
    const id = await calls.enqueue('embed', { size: 1 })
    await calls.cancel(id)
    const seen = await calls.get(id)
    expect(await calls.requeueWithPayload(seen, { size: 2 })).toEqual({ id, changed: ['payload.size'] })
    expect(await calls.get(id)).toMatchObject({ status: 'pending', payload: { size: 2 } })
    await expect(calls.requeueWithPayload(seen, { size: 3 })).rejects.toMatchObject({ code: 'JOB_CHANGED' })
  })

  it('run again from a step, or from the start', async () => {
    const world = await startWorld(dialect)
    const { jobs: calls } = world.client()
    const id = await calls.enqueue('embed', { size: 1 })
    await calls.cancel(id)
    const unknown = calls.requeueFrom(id, 'charge')
    await expect(unknown).rejects.toMatchObject({ code: 'STEP_NOT_FOUND' })
    expect(await calls.requeueFrom(id, null)).toEqual({ id, step: null })
    expect(await calls.get(id)).toMatchObject({ status: 'pending' })
  })
})

describe('nothing is sent', () => {
  const requests: unknown[] = []
  const client = createClient({
    url: 'http://127.0.0.1:1',
    jobs,
    async fetch(...request) {
      requests.push(request)
      throw new Error('a request was made')
    },
  })

  // Like callers without the types.
  const anything = client.jobs as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>

  it('and the error lists the topics that exist when one is wrong', async () => {
    await expect(anything.enqueue?.('mail_digset', {})).rejects.toThrow(
      `"mail_digset" is not defined in the jobs of this client: there are ${Object.keys(jobs).join(', ')}`,
    )
  })

  it.each<[string, string, unknown[], string]>([
    ['an unknown topic', 'enqueue', ['mail_digset', { userId: '1' }], 'UNKNOWN_TOPIC'],
    ['a property of every object as a topic', 'enqueue', ['constructor', {}], 'UNKNOWN_TOPIC'],
    ['a payload that does not fit', 'enqueue', ['mail_digest', { userId: 1 }], 'INVALID_PAYLOAD'],
    ['what JSON cannot hold', 'enqueue', ['mail_digest', { userId: '1', f() {} }], 'INVALID_PAYLOAD'],
    [
      'a payload that is too large',
      'enqueue',
      ['extract', { url: 'x'.repeat(2 ** 20) }],
      'PAYLOAD_TOO_LARGE',
    ],
    ['an unknown option', 'enqueue', ['mail_digest', { userId: '1' }, { prioity: 1 }], 'INVALID_INPUT'],
    ['a bad option', 'enqueue', ['mail_digest', { userId: '1' }, { queue: 'no good' }], 'INVALID_QUEUE'],
    ['one of many', 'enqueueMany', [[{ topic: 'embed', payload: {} }]], 'INVALID_PAYLOAD'],
    [
      'one of a chain',
      'chain',
      [
        ['embed', { size: 1 }],
        ['embed', {}],
      ],
      'INVALID_PAYLOAD',
    ],
    ['an empty chain', 'chain', [], 'INVALID_INPUT'],
  ])('for %s', async (_, method, args, code) => {
    await expect(anything[method]?.(...args)).rejects.toMatchObject({ code })
    expect(requests).toEqual([])
  })
})
