import { describe, expect, it } from 'vitest'
import { DIALECTS, errorOf, startTestApi } from './harness.ts'

const SCHEMA = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
const APPROVE = { name: 'approve', question: 'Refund 5 €?', schema: SCHEMA, role: 'operator' }

describe.each(DIALECTS)('questions on %s', (dialect) => {
  async function start(more: object = {}) {
    const api = await startTestApi(dialect)
    const id = await api.enqueue({ topic: 'payout' })
    const { run } = await api.claim()
    const outcomes = [
      { key: 'step:order', kind: 'step', data: JSON.stringify({ result: { card: '4111', cents: 500 } }) },
      { key: 'ask:approve', kind: 'ask', data: JSON.stringify({ ...APPROVE, ...more }) },
    ] as const
    await api.store.durable.record([{ id, run, after: 0, outcomes }])
    const wait = { kind: 'ask', name: 'approve', key: 'ask:approve' } as const
    await api.store.settle([{ id, run, kind: 'suspend', waits: [wait], progressed: true }])
    return { api, id, admin: api.client() }
  }

  it('are listed while they are open, and an answer resumes the job, told in its timeline', async () => {
    const { id, admin } = await start()
    expect(await admin.jobs.questions.query({ topic: 'payout' })).toMatchObject([
      { ...APPROVE, id, topic: 'payout', queue: 'default', until: null, refused: null },
    ])
    expect((await admin.health.get.query()).questions).toBe(1)
    expect(await admin.jobs.answer.mutate({ id, name: 'approve', value: { ok: true } })).toEqual({
      id,
      name: 'approve',
    })
    expect(await admin.jobs.questions.query()).toEqual([])
    expect(await admin.jobs.get.query({ id })).toMatchObject({ status: 'pending', waits: null })
    const [entry] = (await admin.audit.list.query({ action: 'jobs.answer' })).items
    expect(entry).toMatchObject({ count: 1, target: { ids: [id], topic: 'payout', question: 'approve' } })
    expect(JSON.stringify(entry)).not.toContain('true}')
    const told = await admin.jobs.timeline.query({ id })
    expect(told.entries.filter(({ kind }) => kind !== 'event')).toMatchObject([
      { kind: 'created' },
      { kind: 'step', name: 'order', data: { card: '4111' } },
      { kind: 'asked', name: 'approve', data: { question: 'Refund 5 €?' } },
      { kind: 'answer', name: 'approve', by: entry?.actor?.name, data: { value: { ok: true } } },
    ])
  })

  it('are listed and answered over REST, once with an Idempotency-Key', async () => {
    const { api, id } = await start()
    const listed = await (await api.fetch('/api/questions?topic=payout')).json()
    expect(listed.items).toMatchObject([{ id, name: 'approve', schema: SCHEMA }])
    const send = (key: string) =>
      api.fetch(`/api/jobs/${id}/answers/approve`, {
        json: { ok: true },
        headers: { 'idempotency-key': key },
      })
    for (const key of ['m1', 'm1']) {
      const response = await send(key)
      expect([response.status, await response.json()]).toEqual([202, { id, name: 'approve' }])
    }
    const second = await send('m2')
    expect([second.status, await second.json()]).toMatchObject([409, { error: { code: 'ALREADY_ANSWERED' } }])
    const { items } = await api.client().audit.list.query({ action: 'jobs.answer' })
    expect(items).toHaveLength(1)
    const told = await (await api.fetch(`/api/jobs/${id}/timeline`)).json()
    expect(told).toMatchObject({ id, is_complete: true, masked: [] })
  })

  it.each([
    ['approve', { ok: 'yes' }, 400, 'INVALID_ANSWER', 'answer.ok: must be boolean (schema of payout)'],
    ['other', { ok: true }, 404, 'NOT_ASKED', 'does not ask "other"'],
  ])('refuse %s with %j, and stay open', async (name, json, status, code, message) => {
    const { api, id, admin } = await start()
    const response = await api.fetch(`/api/jobs/${id}/answers/${name}`, { json })
    expect(response.status).toBe(status)
    const { error } = await response.json()
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) })
    expect(await admin.jobs.questions.query()).toHaveLength(1)
  })

  it('refuse a finished job and one that does not exist', async () => {
    const { api, id, admin } = await start()
    await api.store.cancel([id])
    const send = (jobId: string) =>
      errorOf(admin.jobs.answer.mutate({ id: jobId, name: 'approve', value: { ok: true } }))
    expect(await send(id)).toMatchObject({ code: 'JOB_FINISHED' })
    const none = '01900000-0000-7000-8000-000000000001'
    expect(await send(none)).toMatchObject({ code: 'JOB_NOT_FOUND' })
    expect(await errorOf(admin.jobs.timeline.query({ id: none }))).toMatchObject({ code: 'JOB_NOT_FOUND' })
  })

  it('are for the role that they name, within the topics of a token', async () => {
    const { api, id } = await start({ role: 'admin' })
    const send = (token?: string) =>
      api.client(token).jobs.answer.mutate({ id, name: 'approve', value: { ok: true } })
    for (const role of ['viewer', 'producer', 'operator'] as const) {
      expect(await errorOf(send(await api.tokenFor(role)))).toMatchObject({ code: 'FORBIDDEN' })
    }
    const elsewhere = await api.tokenFor('admin', { allowedTopics: ['mail_digest'] })
    expect(await errorOf(send(elsewhere))).toMatchObject({ code: 'TOPIC_NOT_ALLOWED' })
    expect(await send()).toEqual({ id, name: 'approve' })
  })

  it('are answered by operators unless they say otherwise', async () => {
    const { api, id } = await start()
    const operator = api.client(await api.tokenFor('operator'))
    expect(await operator.jobs.answer.mutate({ id, name: 'approve', value: { ok: false } })).toMatchObject({
      id,
    })
  })

  it('and timelines hide what only admins see, and do not take the mask for an answer', async () => {
    const { api, id, admin } = await start({ schema: {} })
    await admin.settings.set.mutate({ maskedKeys: ['card'] })
    const operator = api.client(await api.tokenFor('operator'))
    const { entries, masked } = await operator.jobs.timeline.query({ id })
    expect(entries[1]).toMatchObject({ kind: 'step', name: 'order', data: { card: '[masked]', cents: 500 } })
    expect(masked).toEqual(['entries[1].data.card'])
    expect((await admin.jobs.timeline.query({ id })).entries[1]?.data).toMatchObject({ card: '4111' })
    const answer = operator.jobs.answer.mutate({ id, name: 'approve', value: { card: '[masked]' } })
    expect(await errorOf(answer)).toMatchObject({ code: 'INVALID_PAYLOAD' })
  })
})
