import { describe, expect, it } from 'vitest'
import { DIALECTS, errorOf, startTestApi } from './harness.ts'

const SIGNALS = { bank: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } }

describe.each(DIALECTS)('signals on %s', (dialect) => {
  async function start() {
    const api = await startTestApi(dialect)
    await api.store.announce([{ topic: 'payout', input: {}, output: {}, policy: { signals: SIGNALS } }])
    const id = await api.enqueue({ topic: 'payout' })
    const { run } = await api.claim()
    const wait = { kind: 'signal', name: 'bank', key: 'receive:bank#1', after: 0 } as const
    await api.store.settle([{ id, run, kind: 'suspend', waits: [wait], progressed: true }])
    return { api, id, admin: api.client() }
  }

  it('are shown as what a suspended job waits for, and resume it', async () => {
    const { api, id, admin } = await start()
    expect(await admin.jobs.get.query({ id })).toMatchObject({
      status: 'blocked',
      waits: { for: [{ kind: 'signal', name: 'bank', until: null }] },
    })
    const { items } = await admin.jobs.list.query({ topic: 'payout' })
    expect(items[0]?.waits?.for).toHaveLength(1)
    expect(await admin.jobs.signal.mutate({ id, name: 'bank', data: { ok: true } })).toEqual({
      id,
      name: 'bank',
    })
    expect(await admin.jobs.get.query({ id })).toMatchObject({ status: 'pending', waits: null })
    expect(await api.store.durable.outcomes(id)).toMatchObject([{ name: 'bank', data: { ok: true } }])
    const entries = (await admin.audit.list.query({ action: 'jobs.signal' })).items
    expect(entries).toMatchObject([
      { count: 1, target: { ids: [id], topic: 'payout', queue: 'default', signal: 'bank' } },
    ])
    expect(JSON.stringify(entries)).not.toContain('true}')
  })

  it('are sent over REST, with the data as the body, whatever JSON it is', async () => {
    const { api, id } = await start()
    await api.store.announce([
      { topic: 'payout', input: {}, output: {}, policy: { signals: { bank: {}, any: {} } } },
    ])
    const bodies = [{ id: 'other', name: 'x' }, [1, 2], 'text', 5, null]
    for (const json of bodies) {
      const response = await api.fetch(`/api/jobs/${id}/signals/any`, { method: 'POST', json })
      expect([response.status, await response.json()]).toEqual([202, { id, name: 'any' }])
    }
    expect((await api.store.durable.outcomes(id)).map(({ data }) => data)).toEqual(bodies)
    const got = await (await api.fetch(`/api/jobs/${id}`)).json()
    expect(got.waits.for).toEqual([{ kind: 'signal', name: 'bank', until: null }])
  })

  it('are sent once over REST with an Idempotency-Key, which is their key', async () => {
    const { api, id } = await start()
    const send = (key: string) =>
      api.fetch(`/api/jobs/${id}/signals/bank`, { json: { ok: true }, headers: { 'idempotency-key': key } })
    for (const key of ['m1', 'm1', 'm2']) expect((await send(key)).status).toBe(202)
    expect((await api.store.durable.outcomes(id)).map(({ key }) => key)).toEqual([
      'signal:bank:key:m1',
      'signal:bank:key:m2',
    ])
    expect((await send('x'.repeat(129))).status).toBe(400)
  })

  it.each([
    ['visa', { ok: true }, 400, 'UNKNOWN_SIGNAL', 'payout has no signal "visa": it has "bank"'],
    ['bank', { ok: 'yes' }, 400, 'INVALID_SIGNAL', 'signal.ok: must be boolean (schema of payout)'],
  ])('refuse %s with %j', async (name, json, status, code, message) => {
    const { api, id } = await start()
    const response = await api.fetch(`/api/jobs/${id}/signals/${name}`, { json })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { code, message } })
    expect(await api.store.durable.outcomes(id)).toEqual([])
  })

  it('refuse a finished job and one that does not exist', async () => {
    const { api, id, admin } = await start()
    await api.store.cancel([id])
    const send = (jobId: string) =>
      errorOf(admin.jobs.signal.mutate({ id: jobId, name: 'bank', data: { ok: true } }))
    expect(await send(id)).toMatchObject({ code: 'JOB_FINISHED' })
    expect(await send('01900000-0000-7000-8000-000000000001')).toMatchObject({ code: 'JOB_NOT_FOUND' })
  })

  it('are for callers who could have enqueued the job, and say nothing of other jobs', async () => {
    const { api, id } = await start()
    const send = (token: string) =>
      api.client(token).jobs.signal.mutate({ id, name: 'bank', data: { ok: true } })
    const viewer = await api.tokenFor('viewer')
    expect(await errorOf(send(viewer))).toMatchObject({ code: 'FORBIDDEN' })
    const other = await api.tokenFor('producer', { allowedTopics: ['mail_digest'] })
    expect(await errorOf(send(other))).toMatchObject({ code: 'JOB_NOT_FOUND' })
    const own = await api.tokenFor('producer', { allowedTopics: ['payout'] })
    expect(await send(own)).toEqual({ id, name: 'bank' })
  })
})
