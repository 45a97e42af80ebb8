import { newJobId } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import { ADMIN_TOKEN, DIALECTS, errorOf, startTestApi } from './harness.ts'

describe.each(DIALECTS)('batches and flows over the API, on %s', (dialect) => {
  const item = () => ({ topic: 'mail', requestId: newJobId() })

  it('are stored once, however often they are sent, and audited', async () => {
    const api = await startTestApi(dialect)
    const { jobs, audit } = api.client()
    const [then, onFailure] = [item(), item()]
    const request = { jobs: [item(), item()], then, onFailure }
    const first = await jobs.batch.mutate(request)
    expect(await jobs.batch.mutate({ ...request, isRepeat: true })).toEqual(first)
    const flow = { nodes: { a: item(), b: item() }, edges: [['a', 'b'] satisfies [string, string]] }
    const { ids } = await jobs.flow.mutate(flow)
    expect(await jobs.flow.mutate({ ...flow, isRepeat: true })).toEqual({ ids })
    expect(await jobs.stats.query()).toMatchObject({ pending: 3, blocked: 3 })
    expect((await jobs.tree.query({ id: first.ids[0] ?? '' })).jobs).toHaveLength(4)
    const { items } = await audit.list.query({})
    const made = items.filter(({ action }) => action === 'jobs.batch' || action === 'jobs.flow')
    expect(made.map(({ action, count }) => [action, count]).toReversed()).toEqual([
      ['jobs.batch', 4],
      ['jobs.batch', 0],
      ['jobs.flow', 2],
      ['jobs.flow', 0],
    ])
  })

  it('are refused whole, with where the fault is, and nothing is stored', async () => {
    const api = await startTestApi(dialect)
    const { jobs } = api.client()
    const input = { type: 'object', required: ['userId'] }
    await api.store.announce([{ topic: 'strict', input, output: {}, policy: {} }])
    const good = { topic: 'mail' }
    const onFailure = { topic: 'mail' }
    const other = { topic: 'mail' }
    const { secret } = await api
      .client()
      .tokens.create.mutate({ name: 'shop', role: 'producer', allowedTopics: ['mail'] })
    const shop = api.client(secret)
    const edge = (from: string, to: string): [string, string] => [from, to]
    const refusals: [() => Promise<unknown>, object][] = [
      [
        () => shop.jobs.batch.mutate({ jobs: [good, { topic: 'sms' }], onFailure }),
        { code: 'TOPIC_NOT_ALLOWED', message: expect.stringMatching(/^jobs\[1\]: /) },
      ],
      [
        () => shop.jobs.flow.mutate({ nodes: { a: good, b: { topic: 'sms' } } }),
        { code: 'TOPIC_NOT_ALLOWED', message: expect.stringMatching(/^nodes\.b: /) },
      ],
      [() => jobs.batch.mutate({ jobs: [good] }), { code: 'INVALID_INPUT' }],
      [
        () => jobs.flow.mutate({ nodes: { a: good, b: other }, edges: [edge('a', 'b'), edge('b', 'a')] }),
        { code: 'DEPENDENCY_CYCLE', details: { nodes: ['a', 'b'] } },
      ],
      [() => jobs.flow.mutate({ nodes: { a: good }, edges: [edge('a', 'b')] }), { code: 'INVALID_INPUT' }],
      [
        () =>
          jobs.flow.mutate({
            nodes: { a: good, b: { ...other, idempotencyKey: 'k' } },
            edges: [edge('a', 'b')],
          }),
        { code: 'INVALID_INPUT', message: 'nodes.b waits for other jobs, so it cannot have a key' },
      ],
      [
        () => jobs.batch.mutate({ jobs: [good, { topic: 'strict', payload: {} }], onFailure }),
        { code: 'INVALID_PAYLOAD', message: expect.stringMatching(/^jobs\[1\]: payload\.userId/) },
      ],
      [() => jobs.tree.query({ id: newJobId() }), { code: 'JOB_NOT_FOUND' }],
    ]
    for (const [call, error] of refusals) expect(await errorOf(call())).toMatchObject(error)
    expect((await api.store.list()).total).toBe(0)
  })

  it('are stored once by a client whose clock is wrong', async () => {
    const api = await startTestApi(dialect)
    const { jobs } = api.client()
    const old = (n: number) => ({ topic: 'mail', requestId: `01000000-0000-7000-8000-00000000000${n}` })
    const request = { jobs: [old(1), old(2)], onFailure: old(3) }
    const first = await jobs.batch.mutate(request)
    expect(await jobs.batch.mutate({ ...request, isRepeat: true })).toEqual(first)
    for (let n = 0; n < 2; n++) await api.complete(await api.claim())
    const { status, events } = await jobs.get.query({ id: first.onFailureId ?? '' })
    expect([status, events.map(({ type }) => type)]).toEqual(['cancelled', ['cancelled']])
  })

  it('work over REST', async () => {
    const api = await startTestApi(dialect)
    const send = async (method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
      const response = await fetch(`${api.url}${path}`, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: (await response.json()) as Record<string, object> }
    }
    const mail = { topic: 'mail', run_at: '2039-01-08T12:00:00Z' }
    const batch = await send('POST', '/api/batches', { jobs: [mail], on_failure: mail })
    expect(batch).toMatchObject({ status: 201, body: { ids: [expect.any(String)], then_id: null } })
    const flow = await send('POST', '/api/flows', { nodes: { a: mail, b: mail }, edges: [['a', 'b']] })
    expect(flow).toMatchObject({ status: 201, body: { ids: { a: expect.any(String) } } })
    const { b = '' } = flow.body.ids as Record<string, string>
    expect(await send('GET', `/api/jobs/${b}/tree`)).toMatchObject({
      status: 200,
      body: {
        id: b,
        is_complete: true,
        jobs: [{ name: 'a', run_at: '2039-01-08T12:00:00.000Z' }, { name: 'b' }],
      },
    })
  })
})
